"""Is a step much slower than it was? Figures and seconds of a report against earlier passes of the same kind.

Earlier passes count where the level, the world sizes, the cards, the driver and torch are the same. Without a GPU the
machine has to be the same, too: its name, processors and instruction set. The instruction set alone would not do, since
two processors of one level differ by a factor of two and more, which nothing here would know.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.checks.figures import Kind, Number, numbers
from conda_llmenv.checks.verdict import passed
from conda_llmenv.model import CheckResult, Finding, Report, Status

FEWEST = 3
"""Values that make a baseline."""

NEWEST = 30
"""Values a baseline is made of at most."""

SLOWER, MUCH_SLOWER = 0.93, 0.85
"""Parts of the median below which the throughput of a GPU is warned of; there the figures of one card and driver agree
within a few percent."""

NOISY = 4.0
"""How many times slower than the median anything else has to be: processors, disks and the seconds of a check.

Other work on the same machine makes them two to three times slower (measured with a load of three a core).
"""

DEVIATIONS = 3.0
"""Median absolute deviations from the median within which a value is nothing new."""

EXCESS_SECONDS = 1.0
"""What is late by less is not told, however many times slower it is."""


class Baseline(Struct, frozen=True):
    """What a number was in earlier passes: oldest first, since when, and on what that rests."""

    values: tuple[float, ...]
    since: str
    same: str

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def deviation(self) -> float:
        """The median absolute deviation."""
        return statistics.median(abs(value - self.median) for value in self.values)


def compare(report: Report, earlier: Iterable[Report]) -> tuple[CheckResult, ...]:
    """Return the results of a report, with a warning in each that is much slower than its baseline.

    A result that failed keeps its status and its words, and says in its detail what else is slow; a check that was
    skipped, could not be run, or is reused is left as it is.

    Args:
        report: what was found now.
        earlier: reports before it, in any order; those that are not comparable are passed over.
    """
    passes = _comparable(report, earlier)
    if len(passes) < FEWEST:
        return report.results
    known = _history(passes)
    return tuple(_compared(result, report, known) for result in report.results)


def earlier_values(report: Report, earlier: Iterable[Report]) -> Mapping[str, tuple[float, ...]]:
    """Return what each number of a report was in comparable earlier passes, oldest first.

    The key is the name of a figure, or ``seconds:`` and the id of a check. What has no earlier value is missing.
    """
    known = _history(_comparable(report, earlier))
    found: dict[str, tuple[float, ...]] = {}
    for result in report.results:
        for number in numbers(result, report):
            values = known.get(number.key)
            if values:
                found.setdefault(number.name, tuple(value for _, value in values))
    return found


def is_alike(report: Report, other: Report) -> bool:
    """Return whether the numbers of two reports may be compared."""
    same = (
        report.level is other.level
        and report.ranks == other.ranks
        and _cards(report) == _cards(other)
        and report.host.driver == other.host.driver
        and report.versions.get("torch") == other.versions.get("torch")
    )
    if not same or report.host.gpus:
        return same
    return (report.hostname, report.host.cpus, report.host.cpu_level) == (
        other.hostname,
        other.host.cpus,
        other.host.cpu_level,
    )


def _cards(report: Report) -> Counter[tuple[str, int | None]]:
    return Counter((card.name, card.memory_mib) for card in report.host.gpus)


def _comparable(report: Report, earlier: Iterable[Report]) -> list[Report]:
    """Return the earlier passes that count, oldest first."""
    found = [one for one in earlier if one.started < report.started and passed(one) and is_alike(report, one)]
    return sorted(found, key=lambda one: one.started)


def _history(passes: Iterable[Report]) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """Return when each number was what, oldest first; a result that was warned of is no measure for later ones."""
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for one in passes:
        for result in one.results:
            if result.status is Status.PASS and not result.reused:
                for number in numbers(result, one):
                    found.setdefault(number.key, []).append((one.started, number.value))
    return {key: values[-NEWEST:] for key, values in found.items()}


def _compared(
    result: CheckResult,
    report: Report,
    known: Mapping[tuple[str, str], Sequence[tuple[str, float]]],
) -> CheckResult:
    if result.reused or result.status in {Status.SKIP, Status.ERROR}:
        return result
    slow = []
    for number in numbers(result, report):
        values = known.get(number.key, ())
        if len(values) >= FEWEST:
            baseline = Baseline(tuple(value for _, value in values), values[0][0][:10], _same(report))
            if _is_slow(number, baseline):
                slow.append((number.times_slower(baseline.median), number, baseline))
    if not slow:
        return result
    slow.sort(key=lambda one: -one[0])
    return replace(result, finding=_warned(result.finding, [(number, baseline) for _, number, baseline in slow]))


def _same(report: Report) -> str:
    if report.host.gpus:
        return "with this card, driver and torch"
    return "on this machine with this torch" if report.versions.get("torch") else "on this machine"


def _is_slow(number: Number, baseline: Baseline) -> bool:
    times, away = number.times_slower(baseline.median), abs(number.value - baseline.median)
    unusual = away > DEVIATIONS * baseline.deviation
    if number.kind is Kind.STEADY:
        return times > 1 / MUCH_SLOWER or (times > 1 / SLOWER and unusual)
    late = number.kind is Kind.RATE or away * number.per_unit > EXCESS_SECONDS
    return times > NOISY and unusual and late


def _warned(finding: Finding, slow: Sequence[tuple[Number, Baseline]]) -> Finding:
    lines = [_line(number, baseline) for number, baseline in slow]
    if finding.status is not Status.PASS:
        return replace(finding, detail=(*finding.detail, *lines))
    number, baseline = slow[0]
    before = f"{finding.summary}: {finding.measured}" if finding.measured else finding.summary
    return replace(
        finding,
        status=Status.WARN,
        summary=_summary(number, baseline),
        measured=number.amount(number.value),
        expected=_expected(number, baseline),
        fix=_FIXES[number.kind],
        detail=(*lines[1:], f"otherwise as it should be: {before}", *finding.detail),
    )


def _summary(number: Number, baseline: Baseline) -> str:
    """Return the sentence; a fall to 0.85 and below is no matter of a warm afternoon."""
    what = number.label
    if number.kind is not Kind.STEADY:
        return f"{what} is {number.times_slower(baseline.median):.1f} times slower than it was"
    part = number.value / baseline.median if baseline.median else 0.0
    if part < MUCH_SLOWER:
        return f"{what} has fallen to {part:.2f} of what it was: training here is slower by as much"
    return f"{what} is only {part:.2f} of what it was"


def _line(number: Number, baseline: Baseline) -> str:
    return f"{_summary(number, baseline)}: {number.amount(number.value)}, before {_expected(number, baseline)}"


def _expected(number: Number, baseline: Baseline) -> str:
    count = len(baseline.values)
    return f"{number.amount(baseline.median)}, the median of {count} passes since {baseline.since} {baseline.same}"


_FIXES = {
    Kind.STEADY: "look for a lower power cap, heat or another job: `nvidia-smi -q -d CLOCK,POWER,PERFORMANCE`",
    Kind.RATE: "see whether something else uses this machine (`top`, `iostat -x 1`), then run it again",
    Kind.TIME: "run it again: the first run after a while reads everything from the disk; if it stays slow, see what "
    "else uses this machine (`top`)",
}
