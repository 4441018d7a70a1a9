"""One DDP step against the gradient of a single process, and three steps after which all ranks hold the same bytes."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

from . import tiny_model as tiny
from .process_group import World

STEPS = 3
"""Its judge says how many, too: ``STEPS`` of ``checks/ranks_steps.py``."""

RATE = 1e-3


def look(world: World, values: dict[str, Any]) -> None:
    """Tell the shard of this rank, and for each dtype the gradients and parameters of it."""
    import torch

    world.step("drawing a shard")
    shard = _shard(world)
    values["samples"] = tiny.PER_RANK * world.size
    values["shard"] = shard
    values["dtypes"] = {name: _steps(world, name, getattr(torch, name), shard) for name in ("float32", "float64")}


def _shard(world: World) -> list[int]:
    """Return the sample numbers that torch's sampler gives this rank."""
    from torch.utils.data import DistributedSampler

    whole: Any = range(tiny.PER_RANK * world.size)
    sampler = DistributedSampler(whole, num_replicas=world.size, rank=world.rank, shuffle=True, seed=tiny.SEED)
    return [int(number) for number in sampler]


def _steps(world: World, name: str, dtype: Any, shard: list[int]) -> dict[str, Any]:
    """Return how gradients and parameters of one dtype come out on this rank."""
    model = tiny.build(dtype, world.device)
    start = tiny.hashes(model.named_parameters())
    alone = copy.deepcopy(model)
    whole = tiny.gradients_of(alone, tiny.samples(range(tiny.PER_RANK * world.size), dtype, world.device))
    batch = tiny.samples(shard, dtype, world.device)
    own = tiny.gradients_of(alone, batch)
    wrapped = _wrapped(world, name, model)
    told: dict[str, Any] = {
        "initial": tiny.hash_of(start),
        "wrapped": tiny.hash_of(tiny.hashes(model.named_parameters())),
    }
    world.step(f"a DDP step of this rank alone, {name}")
    with wrapped.no_sync():
        tiny.loss_of(wrapped, batch).backward()
    told["local"] = tiny.compared(_gradients(model), own)["error"]
    first, losses = _trained(world, name, wrapped, batch)
    end = tiny.hashes(model.named_parameters())
    return {
        **told,
        **_against(first, whole, own),
        "finite": all(math.isfinite(loss) for loss in losses),
        "losses": losses,
        "unchanged": [name for name in end if end[name] == start[name]],
        "parameters": end,
    }


def _wrapped(world: World, name: str, model: Any) -> Any:
    import torch

    world.step(f"wrapping a {name} model in DDP")
    cards = [world.device.index] if world.backend == "nccl" else None
    return torch.nn.parallel.DistributedDataParallel(model, device_ids=cards)


def _trained(world: World, name: str, wrapped: Any, batch: tuple[Any, Any]) -> tuple[dict[str, Any], list[float]]:
    """Take all steps on one batch; return the gradients of the first one, and every loss."""
    import torch

    optimizer = torch.optim.AdamW(wrapped.module.parameters(), lr=RATE)
    first: dict[str, Any] = {}
    losses = []
    for number in range(STEPS):
        world.step(f"DDP step {number + 1} of {STEPS}, {name}")
        optimizer.zero_grad(set_to_none=True)
        loss = tiny.loss_of(wrapped, batch)
        loss.backward()
        first = first or {key: gradient.clone() for key, gradient in _gradients(wrapped.module).items()}
        optimizer.step()
        losses.append(loss.item())
    return first, losses


def _against(got: Mapping[str, Any], whole: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **tiny.compared(got, whole),
        "own": tiny.compared(got, own)["error"],
        "gradient": tiny.hash_of(tiny.hashes(got.items())),
        "precision": tiny.precision(got),
    }


def _gradients(model: Any) -> dict[str, Any]:
    return {name: parameter.grad for name, parameter in model.named_parameters()}
