"""The same work many times: one device must give the same bits, and so must equal cards."""

from __future__ import annotations

import math
from typing import Any

from .devices import has_bf16, on_each

RUNS = 20
SIZES = {"cpu": 256, "cuda": 1024}
HEADS = 4


def look(torch: Any, names: list[str]) -> dict[str, Any]:
    """Return how many of twenty runs differ from the first on each device, and which devices differ from their like."""
    firsts: dict[str, list[Any]] = {}

    def on_device(device: str, about: dict[str, Any]) -> dict[str, Any]:
        """Look at one device, and keep its first results for comparing devices."""
        return repeated(torch, device, about, firsts)

    seen = on_each(torch, names, on_device)
    return {"devices": seen, "runs": RUNS, "unlike": unlike(torch, seen, firsts)}


def repeated(torch: Any, device: str, about: dict[str, Any], firsts: dict[str, list[Any]]) -> dict[str, Any]:
    """Run the work on one device; keep the first results for comparing devices."""
    half = torch.bfloat16 if has_bf16(about) else torch.float16
    dtypes = [torch.float32, half] if device.startswith("cuda") else [torch.float32]
    size = SIZES.get(device.partition(":")[0], SIZES["cpu"])
    inputs = [drawn(torch, device, size, dtype) for dtype in dtypes]
    first = [one for given in inputs for one in work(torch, *given)]
    firsts[device] = [one.cpu() for one in first]
    differing, largest = 0, 0.0
    for _ in range(RUNS - 1):
        again = [one for given in inputs for one in work(torch, *given)]
        apart = [largest_difference(torch, first[index], again[index]) for index in range(len(first))]
        differing += any(one is not None for one in apart)
        largest = max([largest, *(one for one in apart if one is not None)])
    return {"differing": differing, "largest": largest}


def drawn(torch: Any, device: str, size: int, dtype: Any) -> tuple[Any, Any, Any]:
    """Return a square matrix and the inputs of an attention, the same on every machine."""
    generator = torch.Generator().manual_seed(11)
    matrix = torch.randn(size, size, generator=generator).to(device=device, dtype=dtype)
    tokens = torch.randn(HEADS, size // HEADS, 64, generator=generator).to(device=device, dtype=dtype)
    weight = (torch.randn(64, 192, generator=generator) / 8).to(device=device, dtype=dtype)
    return matrix, tokens, weight


def work(torch: Any, matrix: Any, tokens: Any, weight: Any) -> list[Any]:
    """Return a product, an attention and the gradient of its weight.

    The attention is written out: the fused kernels add up gradients in an order of their own, which is no fault.
    """
    weight = weight.detach().requires_grad_()
    query, key, value = (tokens @ weight).chunk(3, dim=-1)
    scores = query @ key.transpose(-1, -2) / math.sqrt(64)
    attended = scores.softmax(-1) @ value
    attended.square().sum().backward()
    return [torch.matmul(matrix, matrix), attended.detach(), weight.grad]


def largest_difference(torch: Any, one: Any, other: Any) -> float | None:
    """Return None where all bits are equal, else the largest absolute difference (0 for signs of zero)."""
    whole = {4: torch.int32, 2: torch.int16}[one.element_size()]
    if bool((one.contiguous().view(whole) == other.contiguous().view(whole)).all()):
        return None
    return float(torch.nan_to_num((one.double() - other.double()).abs()).max())


def unlike(torch: Any, seen: dict[str, dict[str, Any]], firsts: dict[str, list[Any]]) -> list[str]:
    """Return the devices whose bits are not those of most cards of the same name."""
    by_name: dict[str, list[str]] = {}
    for device in firsts:
        by_name.setdefault(str(seen[device].get("name")), []).append(device)
    odd: list[str] = []
    for alike in by_name.values():
        agreeing = {
            device: [other for other in alike if equal(torch, firsts[device], firsts[other])] for device in alike
        }
        most = max(agreeing.values(), key=len)
        odd += [device for device in alike if device not in most]
    return odd


def equal(torch: Any, one: list[Any], other: list[Any]) -> bool:
    """Return whether two lists of results have the same bits."""
    return all(largest_difference(torch, one[index], other[index]) is None for index in range(len(one)))
