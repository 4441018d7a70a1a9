"""Collectives by value: integers that depend on the rank and on the position, in odd sizes.

A sum of ones cannot tell a wrong offset, a buffer of a power of two cannot tell a wrong remainder. Every value is below
8191, so that sums are exact in float32 for up to 2048 ranks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from .process_group import World, single

PRIME = 8191

SIZES = (1, 1001, (1 << 20) + 3)
"""Elements: the smallest, one that no block divides, one above the thresholds where protocols change."""

SMALL_SIZES = (1, 1001)

UNSUPPORTED = ("not support", "unsupported", "not implemented", "no backend")
"""Parts of what a backend says that lacks an operation; every rank meets it, so they stay in step."""


def look(world: World, values: dict[str, Any]) -> None:
    """Tell for each operation whether every value came as it should, or the first that did not."""
    values["ops"] = {name: _try(world, name, operation) for name, operation in OPERATIONS.items()}
    values["barrier"] = _barrier(world)


def pattern(world: World, rank: int, count: int, dtype: Any, start: int = 0) -> Any:
    """Return what a rank puts in from a position on: it tells ranks and positions, and no rank has every maximum."""
    import torch

    positions = torch.arange(start, start + count, device=world.device, dtype=torch.int64)
    return ((31 * positions + 977 * rank) % PRIME).to(dtype)


def _cases(world: World) -> Iterator[tuple[int, Any]]:
    """Yield elements and dtype."""
    import torch

    for count in SMALL_SIZES if world.small else SIZES:
        yield count, torch.int64
    yield 1001, torch.float32


def _try(world: World, name: str, operation: Callable[[World, int, Any], tuple[Any, Any]]) -> dict[str, Any]:
    cases = 0
    for count, dtype in _cases(world):
        what = f"{name} of {count} {str(dtype).replace('torch.', '')}"
        world.step(what)
        try:
            got, expected = operation(world, count, dtype)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            if not any(text in str(error).lower() for text in UNSUPPORTED):
                raise
            return {"absent": str(error).splitlines()[0][:200]}
        world.finish()
        wrong = _difference(got, expected)
        if wrong:
            return {"exact": False, "case": what, "count": count, **wrong}
        cases += 1
    return {"exact": True, "cases": cases}


def _difference(got: Any, expected: Any) -> dict[str, Any]:
    places = (got != expected).nonzero()
    if not len(places):
        return {}
    first = int(places[0])
    return {
        "wrong": len(places),
        "of": int(expected.numel()),
        "index": first,
        "expected": expected[first].item(),
        "got": got[first].item(),
    }


def _sum(world: World, count: int, dtype: Any) -> tuple[Any, Any]:
    import torch.distributed as dist

    mine = pattern(world, world.rank, count, dtype)
    dist.all_reduce(mine, op=dist.ReduceOp.SUM)
    return mine, sum(pattern(world, rank, count, dtype) for rank in range(world.size))


def _max(world: World, count: int, dtype: Any) -> tuple[Any, Any]:
    import torch
    import torch.distributed as dist

    mine = pattern(world, world.rank, count, dtype)
    dist.all_reduce(mine, op=dist.ReduceOp.MAX)
    every = torch.stack([pattern(world, rank, count, dtype) for rank in range(world.size)])
    return mine, every.max(dim=0).values


def _gather(world: World, count: int, dtype: Any) -> tuple[Any, Any]:
    import torch
    import torch.distributed as dist

    mine = pattern(world, world.rank, count, dtype)
    parts = [torch.zeros_like(mine) for _ in range(world.size)]
    dist.all_gather(parts, mine)
    return torch.cat(parts), torch.cat([pattern(world, rank, count, dtype) for rank in range(world.size)])


def _broadcast(world: World, count: int, dtype: Any) -> tuple[Any, Any]:
    import torch.distributed as dist

    last = world.size - 1
    mine = pattern(world, world.rank, count, dtype)
    dist.broadcast(mine, src=last)
    return mine, pattern(world, last, count, dtype)


def _reduce_scatter(world: World, count: int, dtype: Any) -> tuple[Any, Any]:
    whole = pattern(world, world.rank, count * world.size, dtype)
    mine = whole.new_zeros(count)
    single("reduce_scatter")(mine, whole)
    start = world.rank * count
    return mine, sum(pattern(world, rank, count, dtype, start) for rank in range(world.size))


def _all_to_all(world: World, count: int, dtype: Any) -> tuple[Any, Any]:
    import torch
    import torch.distributed as dist

    whole = pattern(world, world.rank, count * world.size, dtype)
    got = torch.zeros_like(whole)
    dist.all_to_all_single(got, whole)
    start = world.rank * count
    return got, torch.cat([pattern(world, rank, count, dtype, start) for rank in range(world.size)])


def _ring(world: World, count: int, dtype: Any) -> tuple[Any, Any]:
    import torch
    import torch.distributed as dist

    before, after = (world.rank - 1) % world.size, (world.rank + 1) % world.size
    mine = pattern(world, world.rank, count, dtype)
    if world.size == 1:
        return mine, pattern(world, 0, count, dtype)
    got = torch.zeros_like(mine)
    both = [dist.P2POp(dist.isend, mine, after), dist.P2POp(dist.irecv, got, before)]
    for request in dist.batch_isend_irecv(both):
        request.wait()
    return got, pattern(world, before, count, dtype)


OPERATIONS: dict[str, Callable[[World, int, Any], tuple[Any, Any]]] = {
    "all_reduce SUM": _sum,
    "all_reduce MAX": _max,
    "all_gather": _gather,
    "broadcast": _broadcast,
    "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all,
    "send and receive": _ring,
}


def _barrier(world: World) -> dict[str, float]:
    """Return when this rank came to a barrier and left it, on the clock all processes of a machine share."""
    time.sleep(0.01 * world.rank)
    world.step("barrier")
    came = time.monotonic()
    world.barrier()
    return {"came": came, "left": time.monotonic()}
