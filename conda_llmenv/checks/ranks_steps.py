"""A training step on several ranks is that of one process: same gradients, same parameters everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from conda_llmenv.checks.ranks_gradients import LIMITS, wrong_gradients
from conda_llmenv.checks.ranks_worlds import Problem, World, failed, sizes, worlds
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status

STEPS = 3
"""What the probe takes: ``STEPS`` of ``probes/inside/ddp.py``."""


class Steps(Struct, frozen=True):
    """What all ranks saw of the steps in one dtype."""

    world: World
    dtype: str
    ranks: Mapping[int, Mapping[str, Any]]

    def odd(self, name: str) -> tuple[int, ...]:
        """Return the ranks whose value of this name is not that of most."""
        return self.world.odd({rank: told[name] for rank, told in self.ranks.items()})

    @property
    def with_rank_0(self) -> Mapping[int, Mapping[str, Any]]:
        """The ranks that began with the parameters of rank 0, which are those DDP goes on with."""
        start = self.ranks[0]["initial"]
        return {rank: told for rank, told in self.ranks.items() if told["initial"] == start}


def ddp(scene: Scene) -> Finding:
    """Judge one DDP step against a single process, and the parameters after three."""
    found = worlds(scene, "ddp-step")
    problems = [problem for world in found for problem in _of_world(world)]
    if problems:
        return failed(problems, scene)
    worst = {dtype: max(error for world in found for error in _errors(world, dtype)) for dtype in LIMITS}
    return Finding(
        Status.PASS,
        f"gradients and parameters with {sizes(found)} are those of a single process",
        ", ".join(f"{dtype} {error:.1e}" for dtype, error in worst.items()),
        ", ".join(f"{dtype} ≤ {limit:.0e}" for dtype, limit in LIMITS.items()),
    )


def fsdp(scene: Scene) -> Finding:
    """Judge one FSDP2 step against a single process."""
    found = tuple(world for world in worlds(scene, "fsdp-step") if "absent" not in world.ranks[0])
    if not found:
        return Finding(Status.SKIP, f"{scene.values('fsdp-step')['absent']}, which came with torch 2.4")
    problems = [problem for world in found for problem in _sharded(world)]
    if problems:
        return failed(problems, scene)
    worst = max(values["error"] for world in found for values in world.ranks.values())
    return Finding(
        Status.PASS,
        f"sharded gradients with {sizes(found)} are those of a single process",
        f"float32 {worst:.1e}",
        f"≤ {LIMITS['float32']:.0e}",
    )


def _errors(world: World, dtype: str) -> tuple[float, ...]:
    return tuple(values["dtypes"][dtype]["error"] for values in world.ranks.values())


def _of_world(world: World) -> Iterator[Problem]:
    uneven = tuple(_shards(world))
    yield from uneven
    told: set[str] = set()
    for dtype in LIMITS:
        steps = Steps(world, dtype, {rank: values["dtypes"][dtype] for rank, values in world.ranks.items()})
        gradients = () if uneven else _gradients(steps)  # of other samples, they have to differ
        for problem in (*_starts(steps), *_not_finite(steps), *gradients, *_ends(steps)):
            if problem.sentence not in told:  # what does not depend on the dtype is told once
                told.add(problem.sentence)
                yield problem


def _shards(world: World) -> Iterator[Problem]:
    shards = {rank: tuple(values["shard"]) for rank, values in world.ranks.items()}
    counts = {rank: len(shard) for rank, shard in shards.items()}
    wanted = int(world.ranks[0]["samples"])
    shown = ", ".join(str(count) for count in counts.values())
    odd = tuple(rank for rank, count in counts.items() if count != wanted // world.size)
    if odd:
        yield Problem(
            f"DistributedSampler gives {world.named(odd)} an uneven shard: {shown} of {wanted} samples",
            f"{shown} samples",
            f"{wanted // world.size} each",
        )
    elif len(set().union(*shards.values())) < wanted:
        missing = wanted - len(set().union(*shards.values()))
        yield Problem(
            f"the ranks' shards overlap with {world.words}: {missing} of {wanted} samples are left out, so a rank "
            "shuffles with another seed",
            f"{wanted - missing} samples",
            f"{wanted} samples, each on one rank",
        )


def _starts(steps: Steps) -> Iterator[Problem]:
    world = steps.world
    odd = steps.odd("initial")
    if odd:
        yield Problem(
            f"{world.named(odd)} makes other parameters than the rest from the same seed: another seed or generator",
            _shown(steps, "initial"),
            "one hash of the first parameters",
        )
    odd = steps.odd("wrapped")
    if odd:
        yield Problem(
            f"DDP does not hand the parameters of rank 0 to {world.named(odd)}",
            _shown(steps, "wrapped"),
            "one hash of the parameters in DDP",
        )


def _not_finite(steps: Steps) -> Iterator[Problem]:
    ranks = tuple(rank for rank, told in steps.ranks.items() if not told["finite"])
    if ranks:
        losses = ", ".join(str(loss) for loss in steps.ranks[ranks[0]]["losses"])
        yield Problem(f"the loss is not finite on {steps.world.named(ranks)} ({steps.dtype})", losses, "finite losses")


def _gradients(steps: Steps) -> Iterator[Problem]:
    """Judge gradients on ranks whose single process began as rank 0 did; DDP goes on with what rank 0 had."""
    if not steps.odd("wrapped"):
        yield from wrong_gradients(steps.world, steps.dtype, steps.with_rank_0, "DDP")


def _ends(steps: Steps) -> Iterator[Problem]:
    """Judge the last parameters, where nothing before explains that they differ."""
    still = {rank: tuple(told["unchanged"]) for rank, told in steps.ranks.items() if told["unchanged"]}
    if still:
        names = ", ".join(sorted({name for those in still.values() for name in those}))
        yield Problem(
            f"a stale parameter: {names} did not change in {STEPS} AdamW steps on {steps.world.named(tuple(still))}",
            f"{names} as at the start",
            "every parameter changed",
        )
    elif not steps.odd("wrapped") and not steps.odd("gradient"):
        yield from _parted(steps)


def _parted(steps: Steps) -> Iterator[Problem]:
    names = [
        name
        for name in steps.ranks[0]["parameters"]
        if len({told["parameters"].get(name) for told in steps.ranks.values()}) > 1
    ]
    if names:
        odd = steps.world.odd({rank: told["parameters"].get(names[0]) for rank, told in steps.ranks.items()})
        which = "every parameter" if len(names) == len(steps.ranks[0]["parameters"]) else ", ".join(names)
        yield Problem(
            f"after {STEPS} AdamW steps with equal gradients {steps.world.named(odd)} holds other values of {which}: "
            "stale parameters",
            f"{len(names)} parameters differ",
            "the same bytes on every rank",
        )


def _sharded(world: World) -> Iterator[Problem]:
    start = world.ranks[0]["initial"]
    same = {rank: values for rank, values in world.ranks.items() if values["initial"] == start}
    odd = world.odd({rank: values["initial"] for rank, values in world.ranks.items()})
    if odd:
        yield Problem(
            f"{world.named(odd)} makes other parameters than the rest from the same seed: another seed or generator"
        )
    else:
        yield from wrong_gradients(world, "float32", same, "FSDP")
    whole = tuple(
        rank for rank, values in world.ranks.items() if world.size > 1 and values["share"] > (1 + 1 / world.size) / 2
    )
    if whole:
        share = max(values["share"] for values in world.ranks.values())
        yield Problem(
            f"fully_shard leaves the parameters whole on {world.named(whole)}",
            f"{share:.0%}",
            f"about {1 / world.size:.0%}",
        )


def _shown(steps: Steps, name: str) -> str:
    return ", ".join(f"rank {rank}: {told[name]}" for rank, told in steps.ranks.items())
