"""Which numbers of a report can be compared with those of another run, and what more or less of them means."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from msgspec import Struct

from conda_llmenv.checks.units import RATES, TIMES, amount, named
from conda_llmenv.model import CheckResult, Report

SECONDS = "seconds:"
"""Before the id of a check, the name of the time it took."""

_STORAGE = frozenset({"data", "host"})
"""Groups whose rates are those of disks and memory."""

_NOT_OF_A_GPU = frozenset({"cpu", "gloo", "disk", "read", "write", "loader", "checkpoint", "shm"})


class Kind(enum.Enum):
    """How a number is compared: more is better on a GPU, more is better elsewhere, or less is better."""

    STEADY = "steady"
    RATE = "rate"
    TIME = "time"


class Number(Struct, frozen=True):
    """One number of a report; ``per_unit`` is how many seconds one of its unit is, for times."""

    check: str
    name: str
    value: float
    kind: Kind
    unit: str
    per_unit: float = 1.0

    @property
    def key(self) -> tuple[str, str]:
        """What it is called in every report."""
        return self.check, self.name

    @property
    def label(self) -> str:
        """What a person is told it is."""
        if self.name.startswith(SECONDS):
            return "the check"
        return named(self.name)[0]

    def amount(self, value: float) -> str:
        """Return a value of it with its unit."""
        return amount(value, self.unit)

    def times_slower(self, than: float) -> float:
        """Return how many times slower it is than that value; infinite where nothing is done any more."""
        more, less = (self.value, than) if self.kind is Kind.TIME else (than, self.value)
        if less > 0:
            return more / less
        return float("inf") if more > 0 else 1.0


def numbers(result: CheckResult, report: Report) -> Iterator[Number]:
    """Yield what can be compared of a result: figures whose unit is known, then the seconds it took."""
    for name, value in result.finding.figures.items():
        unit, seconds = named(name)[1], next((TIMES[ending] for ending in TIMES if name.endswith(ending)), None)
        if unit in RATES.values():
            kind = Kind.STEADY if _uses_gpu(report) and _is_of_a_gpu(result, name) else Kind.RATE
            yield Number(result.id, name, value, kind, unit)
        elif seconds is not None:
            yield Number(result.id, name, value, Kind.TIME, unit, seconds)
    if result.seconds > 0:
        yield Number(result.id, f"{SECONDS}{result.id}", result.seconds, Kind.TIME, "s")


def _uses_gpu(report: Report) -> bool:
    """Return whether torch is one for the cards that are there; a build for processors leaves them idle."""
    return bool(report.host.gpus and report.versions.get("cuda"))


def _is_of_a_gpu(result: CheckResult, name: str) -> bool:
    return result.group not in _STORAGE and not _NOT_OF_A_GPU & set(name.split("_"))
