"""This run against earlier ones, as bars: the range of the earlier values, their median, and today's value."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from msgspec import Struct

from conda_llmenv.checks.figures import SECONDS
from conda_llmenv.checks.units import amount, counted, named, number
from conda_llmenv.model import CheckResult, Report, Status
from conda_llmenv.page.ladder import section
from conda_llmenv.page.markup import Markup, element, joined
from conda_llmenv.page.taming import tamed

MOST_TIMES = 12
LEAST_SHARE = 0.01
"""How many of the slowest checks have a bar, and what part of the slowest one's time they took at least."""

HEADROOM = 1.05
"""The longest bar leaves a twentieth of the width, so that its end can be seen."""

FIRST = "There is no comparable earlier run."


class Bar(Struct, frozen=True):
    """One value beside those of earlier runs.

    Attributes:
        label: what was measured; ``of`` is the check's title where that is something else.
        value: of this run.
        earlier: of the earlier runs; empty where there were none.
        full: the value that fills the width.
    """

    label: str
    of: str
    value: float
    unit: str
    earlier: tuple[float, ...]
    full: float


def baseline(report: Report, earlier: Mapping[str, tuple[float, ...]]) -> Markup:
    """Return the figures of a run and the times of its slowest checks, drawn against earlier runs."""
    figures, times = figure_bars(report, earlier), time_bars(report, earlier)
    if not figures and not times:
        return Markup()
    charts = (_chart("Figures", figures), _chart("Times", times))
    if not any(bar.earlier for bar in (*figures, *times)):
        return section("baseline", "Figures and times", element("p", FIRST, class_="quiet"), *charts)
    return section("baseline", "Against earlier runs", _legend(), *charts)


def figure_bars(report: Report, earlier: Mapping[str, tuple[float, ...]]) -> list[Bar]:
    """Return a bar for every figure, each with a scale of its own: their units differ."""
    bars = []
    for result in report.results:
        for name, value in result.finding.figures.items():
            label, unit = named(tamed(name))
            before = _finite(earlier.get(name, ()))
            if math.isfinite(value):
                bars.append(Bar(label, result.title, value, unit, before, _full(value, *before)))
    return bars


def time_bars(report: Report, earlier: Mapping[str, tuple[float, ...]]) -> list[Bar]:
    """Return a bar for each of the checks that took longest, all on one scale."""
    timed = [result for result in report.results if _is_timed(result)]
    least = LEAST_SHARE * max((result.seconds for result in timed), default=0.0)
    slowest = sorted(timed, key=lambda result: -result.seconds)[:MOST_TIMES]
    slowest = [result for result in slowest if result.seconds >= least]
    before = {result.id: _finite(earlier.get(f"{SECONDS}{result.id}", ())) for result in slowest}
    full = _full(*(result.seconds for result in slowest), *(value for values in before.values() for value in values))
    return [Bar(result.title, "", result.seconds, "s", before[result.id], full) for result in slowest]


def _is_timed(result: CheckResult) -> bool:
    return not result.reused and result.status is not Status.SKIP and 0 < result.seconds < math.inf


def _finite(values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(value for value in values if math.isfinite(value))


def _full(*values: float) -> float:
    """Return the value at the right edge; above zero, so that it can be divided by."""
    return max((value for value in values if value > 0), default=1.0) * HEADROOM


def _legend() -> Markup:
    samples = (("now", "this run"), ("range", "range of earlier runs"), ("median", "their median"))
    return element(
        "ul",
        *(element("li", element("span", class_=f"sample {name}"), element("span", words)) for name, words in samples),
        class_="legend",
    )


def _chart(heading: str, bars: list[Bar]) -> Markup:
    if not bars:
        return Markup()
    rows = (_row(bar, f"{heading.lower()}-{index}") for index, bar in enumerate(bars))
    return joined((element("h3", heading), element("ul", *rows, class_="bars")))


def _row(bar: Bar, name: str) -> Markup:
    label = element("span", element("b", bar.label), f" {bar.of}" if bar.of else "", class_="label")
    return element(
        "li", label, element("span", amount(bar.value, bar.unit), class_="value"), _drawn(bar, name),
        element("span", said, class_="compared") if (said := compared(bar)) else "",
    )  # fmt: skip


def compared(bar: Bar) -> str:
    """Return the words for how a value compares with earlier ones; none where there are none."""
    if not bar.earlier:
        return ""
    median = statistics.median(bar.earlier)
    runs = counted(len(bar.earlier), "earlier run")
    spread = f" ({number(min(bar.earlier))} to {number(max(bar.earlier))})" if len(bar.earlier) > 1 else ""
    return f"{_difference(bar, median)}median {amount(median, bar.unit)}{spread} of {runs}"


def _difference(bar: Bar, median: float) -> str:
    """Return how far a value is from the median, in the words of its unit."""
    if median <= 0:
        return ""
    percent = round(100 * (bar.value - median) / median)
    if not percent:
        return "like the "
    return f"{abs(percent):,} % {'above' if percent > 0 else 'below'} the "


def _drawn(bar: Bar, name: str) -> Markup:
    said = ", ".join(filter(None, (f"{amount(bar.value, bar.unit)} in this run", compared(bar))))
    return element(
        "svg",
        element("title", bar.label, id=f"{name}-title"),
        element("desc", said, id=f"{name}-desc"),
        element("rect", class_="track", y="4", width="100%", height="16", rx="3"),
        _range(bar),
        element("rect", class_="now", y="8", width=_percent(bar.value, bar.full), height="8", rx="2"),
        _median(bar),
        role="img", width="100%", height="24", aria_labelledby=f"{name}-title", aria_describedby=f"{name}-desc",
    )  # fmt: skip


def _range(bar: Bar) -> Markup:
    if not bar.earlier:
        return Markup()
    low, high = min(bar.earlier), max(bar.earlier)
    return element(
        "rect", class_="range", x=_percent(low, bar.full), y="4", width=_percent(high - max(low, 0), bar.full),
        height="16",
    )  # fmt: skip


def _median(bar: Bar) -> Markup:
    if not bar.earlier:
        return Markup()
    place = _percent(statistics.median(bar.earlier), bar.full)
    return element("line", class_="median", x1=place, x2=place, y1="1", y2="23")


def _percent(value: float, full: float) -> str:
    return f"{100 * min(max(value / full, 0.0), 1.0):.2f}%"
