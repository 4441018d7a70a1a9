"""A transformer block of a few thousand parameters, its data, and how gradients are compared.

Without dropout and BatchNorm, so that a batch split over ranks has the gradient of the whole batch. The data is a
formula of the sample's number, so that no random generator takes part in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SEED = 20_251

WIDTH = 16

LENGTH = 4

PER_RANK = 8
"""Samples of one rank in a step."""


def build(dtype: Any, device: Any) -> Any:
    """Return the model, the same wherever the seed is the same: made on the CPU in float32 and then moved."""
    import torch
    from torch import nn

    torch.manual_seed(SEED)
    block = nn.TransformerEncoderLayer(
        WIDTH, nhead=2, dim_feedforward=2 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
    )
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), block, nn.LayerNorm(WIDTH))
    return model.to(device=device, dtype=dtype)


def samples(numbers: Sequence[int], dtype: Any, device: Any) -> tuple[Any, Any]:
    """Return inputs and targets of these sample numbers, both of shape (samples, LENGTH, WIDTH)."""
    import torch

    places = torch.arange(LENGTH * WIDTH, dtype=torch.float64).reshape(LENGTH, WIDTH)
    rows = torch.as_tensor(list(numbers), dtype=torch.float64).reshape(-1, 1, 1)
    inputs = torch.sin(1.7 * rows + 0.37 * places + 0.011 * rows * places)
    targets = torch.cos(0.9 * rows + places)
    return inputs.to(device=device, dtype=dtype), targets.to(device=device, dtype=dtype)


def loss_of(model: Any, batch: tuple[Any, Any]) -> Any:
    """Return the mean squared error of a batch."""
    import torch

    inputs, targets = batch
    return torch.nn.functional.mse_loss(model(inputs), targets)


def gradients_of(model: Any, batch: tuple[Any, Any]) -> dict[str, Any]:
    """Return the gradients of one batch on one process, by parameter name."""
    model.zero_grad(set_to_none=True)
    loss_of(model, batch).backward()
    return {name: parameter.grad.detach().clone() for name, parameter in model.named_parameters()}


def compared(got: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, float]:
    """Return how gradients differ from those expected.

    Returns:
        ``error``: Frobenius norm of the difference over that of what is expected, all parameters together;
        ``factor``: the number that ``expected`` must be multiplied by to come closest;
        ``rest``: the error that is left after that.
    """
    mine, whole = _flat(got, expected), _flat(expected, expected)
    norm = float(whole.norm())
    factor = float(mine.dot(whole)) / norm**2
    return {
        "error": float((mine - whole).norm()) / norm,
        "factor": factor,
        "rest": float((mine - factor * whole).norm()) / norm,
    }


def precision(gradients: Mapping[str, Any]) -> str:
    """Return the narrowest dtype that holds every value exactly: gradients that were rounded give themselves away."""
    import torch

    flat = _flat(gradients, gradients)
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        if bool((flat.to(dtype).to(flat.dtype) == flat).all()):
            return str(dtype).replace("torch.", "")
    return str(flat.dtype).replace("torch.", "")


def hashes(tensors: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Return the start of the sha256 of each tensor's bytes, by name."""
    return {name: hashlib.sha256(_bytes(tensor)).hexdigest()[:8] for name, tensor in tensors}


def _bytes(tensor: Any) -> bytes:
    """Return the memory of a tensor, without numpy."""
    import torch

    return bytes(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).tolist())


def hash_of(named: Mapping[str, str]) -> str:
    """Return one short hash of many."""
    return hashlib.sha256("".join(f"{name}={value};" for name, value in named.items()).encode()).hexdigest()[:8]


def _flat(tensors: Mapping[str, Any], order: Mapping[str, Any]) -> Any:
    import torch

    return torch.cat([tensors[name].detach().to("cpu", torch.float64).flatten() for name in order])
