"""The ladder: every check, from activation and the machine up to a training step, each after what it needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from conda_llmenv.checks import compute, data, host, imports, models, python, ranks, runtime
from conda_llmenv.checks.check import Check
from conda_llmenv.model import CheckResult, Level

LADDER: tuple[Check, ...] = (
    *python.CHECKS,
    *host.CHECKS,
    *runtime.CHECKS,
    *imports.CHECKS,
    *compute.CHECKS,
    *ranks.CHECKS,
    *data.CHECKS,
    *models.CHECKS,
)

BY_ID = {check.id: check for check in LADDER}


def selected(level: Level, only: Collection[str] = ()) -> tuple[Check, ...]:
    """Return the checks of a level, or those of ``only`` whatever their level, in the order of the ladder."""
    if only:
        return tuple(check for check in LADDER if check.id in only)
    return tuple(check for check in LADDER if check.level <= level)


def in_order(results: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """Return results in the order of the ladder; those of checks that are no more come last."""
    places = {check.id: place for place, check in enumerate(LADDER)}
    return tuple(sorted(results, key=lambda result: places.get(result.id, len(places))))


def with_needed(checks: Collection[Check]) -> tuple[Check, ...]:
    """Return checks and everything they stand on, in the order of the ladder."""
    wanted: set[str] = set()
    waiting = [check.id for check in checks]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += BY_ID[name].everything_needed
    return tuple(check for check in LADDER if check.id in wanted)
