"""Collectives move and add every value as they should, on every rank."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from conda_llmenv.checks.ranks_worlds import Problem, World, failed, sizes, worlds
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status

BY_BLOCK = ("all_gather", "all_to_all")
"""Operations whose result holds one block of each rank, so that a wrong place tells where it came from."""

REDUCING = ("all_reduce SUM", "all_reduce MAX")

CLOCK_SECONDS = 1e-3
"""How far the clocks of two processors of one machine may be apart."""


def exact(scene: Scene) -> Finding:
    """Judge whether all values came as they should; a backend that lacks an operation is told, and no fault."""
    found = worlds(scene, "collectives")
    problems = [problem for world in found for problem in _problems(world, scene)]
    absent = tuple(f"{name} is not offered by {found[0].backend}" for name in _absent(found[0]))
    if problems:
        return failed(problems, scene, absent)
    count = len(found[0].ranks[0]["ops"]) - len(absent)
    what = f"{count} operations and a barrier"
    return Finding(Status.PASS, f"{what} are exact with {sizes(found)}", "every value", "every value", detail=absent)


def _absent(world: World) -> tuple[str, ...]:
    return tuple(name for name, outcome in world.ranks[0]["ops"].items() if "absent" in outcome)


def _problems(world: World, scene: Scene) -> Iterator[Problem]:
    for name in world.ranks[0]["ops"]:
        outcomes = {rank: values["ops"][name] for rank, values in world.ranks.items()}
        wrong = {rank: outcome for rank, outcome in outcomes.items() if outcome.get("exact") is False}
        if wrong:
            yield _wrong(world, name, wrong, scene)
    yield from _barrier(world, scene)


def _wrong(world: World, name: str, wrong: Mapping[int, Mapping[str, Any]], scene: Scene) -> Problem:
    rank, first = next(iter(wrong.items()))
    rest = "" if len(wrong) == world.size else ", and right on the others"
    sentence = f"{name} is wrong on {world.named(tuple(wrong))}{rest}{_origin(world, name, wrong)}"
    place = f"{first['wrong']} of {first['of']} values wrong on rank {rank}, the first at {first['index']}"
    return Problem(
        sentence,
        f"{first['got']} ({first['case']}: {place})",
        str(first["expected"]),
        _fix(world, scene),
    )


def _origin(world: World, name: str, wrong: Mapping[int, Mapping[str, Any]]) -> str:
    """Say which rank the wrong values came from, where the operation tells."""
    if name in BY_BLOCK:
        sources = {outcome["index"] // outcome["count"] for outcome in wrong.values()}
        return f", in what {world.named(tuple(sources))} sent" if len(sources) == 1 else ""
    if name == "send and receive" and len(wrong) == 1:
        return f", in what rank {(next(iter(wrong)) - 1) % world.size} sent"
    same = {(outcome["case"], outcome["index"], outcome["got"]) for outcome in wrong.values()}
    if name in REDUCING and len(wrong) == world.size and len(same) == 1:
        return ": all see the same, so one of them puts a wrong value in"
    return ""


def _barrier(world: World, scene: Scene) -> Iterator[Problem]:
    came = {rank: values["barrier"]["came"] for rank, values in world.ranks.items()}
    left = {rank: values["barrier"]["left"] for rank, values in world.ranks.items()}
    last = max(came, key=lambda rank: came[rank])
    early = {rank: came[last] - at for rank, at in left.items() if at < came[last] - CLOCK_SECONDS}
    if early:
        yield Problem(
            f"the barrier let {world.named(tuple(early))} through before rank {last} had come",
            f"{max(early.values()) * 1e3:.0f} ms too early",
            "no rank leaves before the last one comes",
            _fix(world, scene),
        )


def _fix(world: World, scene: Scene) -> str:
    again = f"llmenv verify -p {shlex.quote(scene.prefix)}"
    if world.backend == "nccl":
        return (
            f"`NCCL_P2P_DISABLE=1 {again} --only collectives`; where that is right, PCIe ACS or the IOMMU garbles what "
            "cards exchange"
        )
    return f"`{again} --integrity`; if no file of torch was changed, test this machine's memory"
