"""What ranks tell when all is well, to be changed where a test wants it otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import HostFacts, Observation

GIB = 1 << 30

NAMES = ("0.weight", "2.bias")

Change = Callable[[dict[str, Any]], None]
"""Alters what one rank tells."""

Told = Mapping[int, Change]
"""Rank to the change of what it tells."""


def scene(check: str, *launches: Sequence[Mapping[str, Any]]) -> Scene:
    """Return a scene in which ranks told these values, one sequence for each launch."""
    seen = tuple(Observation(check, told, rank=rank) for launch in launches for rank, told in enumerate(launch))
    return Scene("/envs/my env", HostFacts("linux-64"), load_tables(), seen={check: seen})


def launch(make: Callable[[int, int], dict[str, Any]], size: int, changes: Told | None = None) -> list[dict[str, Any]]:
    """Return what each rank of a launch tells."""
    told = [make(rank, size) for rank in range(size)]
    for rank, change in (changes or {}).items():
        change(told[rank])
    return told


def of(rank: int, size: int, **more: Any) -> dict[str, Any]:
    """Return what every check of a rank tells."""
    return {"world": size, "backend": "gloo", "device": "cpu", **more}


def collectives(rank: int, size: int) -> dict[str, Any]:
    """Every value right, the barrier left when all had come."""
    right = {"exact": True, "cases": 4}
    names = ("all_reduce SUM", "all_reduce MAX", "all_gather", "broadcast", "all_to_all", "send and receive")
    barrier = {"came": 100.0 + 0.01 * rank, "left": 100.0 + 0.01 * size}
    return of(rank, size, ops=dict.fromkeys(names, right), barrier=barrier)


def wrong(name: str, **more: Any) -> Change:
    """One wrong value of an operation over 1001 elements a rank."""
    outcome = {
        "exact": False,
        "case": f"{name} of 1001 int64",
        "count": 1001,
        "wrong": 3,
        "of": 2002,
        "index": 1500,
        "expected": 42,
        "got": 43,
        **more,
    }

    def change(told: dict[str, Any]) -> None:
        told["ops"] = {**told["ops"], name: outcome}

    return change


def bandwidth(
    rank: int, size: int, *, busbw: float = 1.0, device: str = "cpu", backend: str = "gloo"
) -> dict[str, Any]:
    """All ranks at one rate."""
    one = {"bytes": GIB, "seconds": 0.02, "algbw_gbs": busbw, "busbw_gbs": busbw}
    ops = {name: dict(one) for name in ("all_reduce", "all_gather", "reduce_scatter")}
    return {**of(rank, size, ops=ops), "device": device, "backend": backend}


def gradients(**more: Any) -> dict[str, Any]:
    """Gradients as rounding leaves them."""
    return {"error": 1.5e-7, "factor": 1.0, "rest": 1.5e-7, "own": 0.4, "local": 0.0, "precision": "float32", **more}


def ddp(rank: int, size: int) -> dict[str, Any]:
    """Three steps that agree."""
    steps = {
        "initial": "aa",
        "wrapped": "aa",
        "gradient": "bb",
        "finite": True,
        "losses": [1.5, 1.4, 1.3],
        "unchanged": [],
        "parameters": dict.fromkeys(NAMES, "cc"),
    }
    fine = gradients(error=2.3e-16, rest=2e-16, precision="float64")
    shard = list(range(rank, 8 * size, size))
    dtypes = {"float32": {**gradients(), **steps}, "float64": {**fine, **steps}}
    return of(rank, size, samples=8 * size, shard=shard, dtypes=dtypes)


def steps(dtypes: Sequence[str] = ("float32", "float64"), **more: Any) -> Change:
    """Other values of the steps in these dtypes."""

    def change(told: dict[str, Any]) -> None:
        for name in dtypes:
            told["dtypes"][name] = {**told["dtypes"][name], **more}

    return change


def fsdp(rank: int, size: int) -> dict[str, Any]:
    """A sharded step that agrees."""
    told = gradients()
    del told["own"], told["local"]
    return of(rank, size, initial="aa", share=1 / size, loss=1.5, **told)
