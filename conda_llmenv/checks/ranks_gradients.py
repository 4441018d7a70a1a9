"""What a gradient that differs from a single process's gives away about its cause."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from conda_llmenv.checks.ranks_worlds import Problem, World

LIMITS = {"float32": 1e-5, "float64": 1e-12}
"""Largest relative Frobenius error. Rounding leaves 2e-7 and 3e-16 with 2 and 4 ranks; the smallest fault worth the
name, one sample in another shard, leaves over 1e-2."""

BITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
"""Significant bits of each dtype."""

LEAVES = {
    "float32": (("bfloat16", 3e-4, 3e-2), ("float16 or TF32", 2e-5, 3e-4)),
    "float64": (("float32", 1e-9, 3e-6), ("bfloat16", 3e-4, 3e-2), ("float16 or TF32", 2e-5, 3e-4)),
}
"""The errors that arithmetic in a narrower dtype leaves in such a step, from and to."""

NEAR = 1e-3
"""Relative distance within which a factor is the world size."""

Told = Mapping[str, Any]


def wrong_gradients(world: World, dtype: str, ranks: Mapping[int, Told], wrapper: str) -> Iterator[Problem]:
    """Yield what is wrong with the gradients of these ranks, one problem for each cause that can be told."""
    limit = LIMITS[dtype]
    causes: dict[str, dict[int, float]] = {}
    for rank, told in ranks.items():
        error = float(told["error"])
        if not error <= limit:  # NaN too
            causes.setdefault(_cause(world, dtype, told), {})[rank] = error
    for cause, errors in causes.items():
        yield Problem(
            f"{dtype} gradients under {wrapper} on {world.named(tuple(errors))} {cause}{_where(world, dtype, ranks)}",
            f"relative error {max(errors.values()):.1e}",
            f"≤ {limit:.0e} of a single process's",
            "DDP divides the sum by the world size unless a communication hook takes over: divide in the hook"
            if "missing 1/n" in cause
            else "",
        )
    if not causes:
        yield from _parted(world, dtype, ranks, wrapper)


def _parted(world: World, dtype: str, ranks: Mapping[int, Told], wrapper: str) -> Iterator[Problem]:
    told = {rank: one["gradient"] for rank, one in ranks.items() if "gradient" in one}
    odd = world.odd(told) if told else ()
    if odd:
        yield Problem(
            f"{dtype} gradients under {wrapper} are not the same bytes on {world.named(odd)} as on the rest",
            ", ".join(f"rank {rank}: {value}" for rank, value in told.items()),
            "one hash of the gradients",
        )


def _cause(world: World, dtype: str, told: Told) -> str:
    limit, factor, error = LIMITS[dtype], float(told["factor"]), float(told["error"])
    if math.isnan(error):
        return "are not finite"
    if told.get("own", 1.0) <= limit:
        return "are those of its own shard: they were never averaged"
    if told["rest"] <= limit * max(1.0, abs(factor)):
        return _scaled(world, factor)
    narrow = str(told["precision"])
    if BITS[narrow] < BITS[dtype]:
        return f"are rounded to {narrow} where {dtype} is expected"
    for name, least, most in LEAVES[dtype]:
        if least <= error <= most:
            return f"are as far from a single process's as arithmetic in {name} leaves them, where {dtype} is expected"
    return "are not those of a single process"


def _scaled(world: World, factor: float) -> str:
    if math.isclose(factor, world.size, rel_tol=NEAR):
        return (
            f"are {world.size} times those of a single process: the sum is not divided by the world size (missing 1/n)"
        )
    if math.isclose(factor, 1 / world.size, rel_tol=NEAR):
        return f"are 1/{world.size} of those of a single process: they are divided by the world size twice"
    return f"are {factor:.4g} times those of a single process"


def _where(world: World, dtype: str, ranks: Mapping[int, Told]) -> str:
    """Name the ranks whose own part was wrong before anything was exchanged."""
    wrong = tuple(rank for rank, told in ranks.items() if told.get("local", 0.0) > LIMITS[dtype])
    return f"; it begins on {world.named(wrong)}" if wrong and len(wrong) < len(ranks) else ""
