"""Bandwidth of three collectives, by the formulas of nccl-tests (doc/PERFORMANCE.md of NVIDIA/nccl-tests).

Algorithm bandwidth is size / time. Bus bandwidth multiplies it by what the operation must move over the slowest link,
so that it can be held against the hardware whatever the number of ranks n: 2(n-1)/n for all_reduce, (n-1)/n for
all_gather and reduce_scatter. The size of the last two is that of the data of all ranks together.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from .process_group import World, single

MIB = 1 << 20

CPU_BYTES = 16 * MIB

GPU_BYTES = 1024 * MIB

SMALL_BYTES = 4 * MIB

FREE_SHARE = 8
"""A message takes at most this part of a card's free memory: one buffer of its size, and what others hold."""


def look(world: World, values: dict[str, Any]) -> None:
    """Tell bytes, seconds (median), algbw and busbw in GB/s of each operation."""
    if world.size == 1:
        values["absent"] = "one rank has no one to send to"
        return
    size = _size(world)
    repeats = (5, 20) if world.backend == "nccl" else (1, 5)
    values["ops"] = {name: _measure(world, name, size, repeats) for name in OPERATIONS}


def _size(world: World) -> int:
    """Return the bytes of a message, the same on every rank: divisible by them, and small where memory is short."""
    import torch
    import torch.distributed as dist

    size = SMALL_BYTES if world.small else CPU_BYTES
    if world.backend == "nccl":
        free = torch.cuda.mem_get_info()[0]
        least = torch.tensor([min(free // FREE_SHARE, SMALL_BYTES if world.small else GPU_BYTES)], device=world.device)
        world.step("agreeing on the size of messages")
        dist.all_reduce(least, op=dist.ReduceOp.MIN)
        size = int(least.item())
    return size // (4 * world.size) * 4 * world.size


def _measure(world: World, name: str, size: int, repeats: tuple[int, int]) -> dict[str, float]:
    make, factor = OPERATIONS[name]
    operation = make(world, size // 4)
    warm, counted = repeats
    seconds = []
    for number in range(warm + counted):
        world.step(f"{name} of {size // MIB} MiB, {number + 1} of {warm + counted}")
        world.barrier()
        started = time.perf_counter()
        operation()
        world.finish()
        seconds.append(time.perf_counter() - started)
    median = statistics.median(seconds[warm:])
    algbw = size / median / 1e9
    return {"bytes": size, "seconds": median, "algbw_gbs": algbw, "busbw_gbs": algbw * factor(world.size)}


def _all_reduce(world: World, count: int) -> Callable[[], Any]:
    import torch
    import torch.distributed as dist

    data = torch.ones(count, device=world.device)
    return lambda: dist.all_reduce(data)


def _all_gather(world: World, count: int) -> Callable[[], Any]:
    import torch

    whole = torch.zeros(count, device=world.device)
    mine = torch.ones(count // world.size, device=world.device)
    gather = single("all_gather")
    return lambda: gather(whole, mine)


def _reduce_scatter(world: World, count: int) -> Callable[[], Any]:
    import torch

    whole = torch.ones(count, device=world.device)
    mine = torch.zeros(count // world.size, device=world.device)
    scatter = single("reduce_scatter")
    return lambda: scatter(mine, whole)


OPERATIONS: dict[str, tuple[Callable[[World, int], Callable[[], Any]], Callable[[int], float]]] = {
    "all_reduce": (_all_reduce, lambda ranks: 2 * (ranks - 1) / ranks),
    "all_gather": (_all_gather, lambda ranks: (ranks - 1) / ranks),
    "reduce_scatter": (_reduce_scatter, lambda ranks: (ranks - 1) / ranks),
}
