"""Which processes look for a set of checks, in which order, with which settings and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Level, ProbeRun

START_SECONDS = 30.0
"""What starting Python and importing torch from a slow disk may take before the first check begins."""

IMPORT_SECONDS = 180.0
"""A cold ``import torch`` from a network disk can take a minute; one that takes longer hangs."""

DATA_WORKERS = 2
"""Processes that load data where the layers do not say."""


class Course(Struct, frozen=True):
    """What a run of the ladder was asked for beyond the scene.

    Attributes:
        level: how far it goes.
        worlds: world sizes for the checks of several ranks.
        folder: where checkpoints are tried.
        root: folder of a recorded machine, ``/`` for this one.
        modules: what layers promise to be importable.
        packages: names of the packages that were asked for.
        workers: processes that load data.
    """

    level: Level
    worlds: tuple[int, ...] = ()
    folder: str = ""
    root: str = "/"
    modules: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    workers: int = DATA_WORKERS


Planner = Callable[[Sequence[Check], Scene, Course], Iterable[ProbeRun]]


def stages(checks: Iterable[Check]) -> dict[str, tuple[Check, ...]]:
    """Return the checks by the probe that looks for them, in the order of the ladder."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        found.setdefault(check.probe, []).append(check)
    return {probe: tuple(those) for probe, those in found.items()}


def runs_of(probe: str, checks: Sequence[Check], scene: Scene, course: Course) -> tuple[ProbeRun, ...]:
    """Return the processes that look for the checks of one probe."""
    return tuple(PLANNERS.get(probe, _one)(checks, scene, course))


def _run(checks: Sequence[Check], asked: Mapping[str, Any], **more: Any) -> ProbeRun:
    seconds = START_SECONDS + sum({check.observed: check.timeout for check in checks}.values())
    observed = tuple(dict.fromkeys(check.observed for check in checks))
    return ProbeRun(checks[0].probe, observed, asked, **{"timeout": seconds, **more})


def _one(checks: Sequence[Check], _scene: Scene, course: Course) -> Iterable[ProbeRun]:
    yield _run(
        checks,
        {
            "small": course.level is Level.QUICK,
            "deep": course.level is Level.DEEP,
            "root": course.root,
            "folder": course.folder,
            "workers": course.workers,
        },
    )


def _python(checks: Sequence[Check], _scene: Scene, course: Course) -> Iterable[ProbeRun]:
    yield _run(checks, {"packages": list(course.packages)})


def _paths(checks: Sequence[Check], _scene: Scene, _course: Course) -> Iterable[ProbeRun]:
    yield _run(checks, {}, isolated=False)


def _imports(checks: Sequence[Check], scene: Scene, course: Course) -> Iterable[ProbeRun]:
    for module in wanted_modules(scene, course):
        yield _run(checks, {"module": module}, timeout=_import_seconds(scene))


def _import_seconds(scene: Scene) -> float:
    wanted = scene.settings.get("import_timeout")
    return float(wanted) if isinstance(wanted, int) and wanted > 0 else IMPORT_SECONDS


def wanted_modules(scene: Scene, course: Course) -> tuple[str, ...]:
    """Return what is imported: what layers promise, then the modules that packages asked for bring."""
    found = scene.values("modules").get("modules", {})
    return tuple(dict.fromkeys((*course.modules, *(module for names in found.values() for module in names))))


def _ranks(checks: Sequence[Check], scene: Scene, course: Course) -> Iterable[ProbeRun]:
    for world in course.worlds:
        asked = {"world": world, "backend": backend(scene)}
        yield _run(checks, asked, ranks=world)


def backend(scene: Scene) -> str:
    """Return ``nccl`` where torch sees a card and was built with it, else ``gloo``."""
    torch = scene.values("torch-import")
    return "nccl" if torch.get("cuda_available") and "nccl" in torch.get("backends", ()) else "gloo"


PLANNERS: dict[str, Planner] = {"python": _python, "paths": _paths, "imports": _imports, "ranks": _ranks}
