"""The picture: bars have the lengths of their values, and words say what they show."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from conda_llmenv.checks.units import duration, named, number
from conda_llmenv.model import Status
from conda_llmenv.page import render
from conda_llmenv.page.circumstances import size
from tests.page.sample import EARLIER, REPORT, passed, result
from tests.page.tree import Node, parsed


def charts(page: str) -> list[Node]:
    """Return the rows of the picture."""
    return next(node for node in parsed(page).all("section") if node.attributes["id"] == "baseline").all("svg")


def drawn(row: Node, class_: str) -> dict[str, str]:
    """Return the attributes of one shape of a row."""
    return next(node.attributes for node in row.walk() if class_ in node.classes)


def one(value: float, *earlier: float) -> Node:
    """Return the row of a figure."""
    report = replace(REPORT, results=(passed("a", "g", "Copy", "fine", figures={"copy_gbs": value}),))
    return charts(render(report, {"copy_gbs": earlier}))[0]


def percent(attributes: dict[str, str], name: str) -> float:
    """Return a length as a number."""
    return float(attributes[name].rstrip("%"))


def test_a_bar_is_as_long_as_its_value_beside_range_and_median() -> None:
    """50 GB/s against 80, 90 and 100: half as long as the range's end, which spans a fifth of that."""
    row = one(50.0, 80.0, 90.0, 100.0)
    end = percent(drawn(row, "range"), "x") + percent(drawn(row, "range"), "width")
    assert percent(drawn(row, "now"), "width") == pytest.approx(end / 2, abs=0.02)
    assert percent(drawn(row, "range"), "width") == pytest.approx(end / 5, abs=0.02)
    assert percent(drawn(row, "median"), "x1") == pytest.approx(end * 0.9, abs=0.02)
    assert end < 100


def test_the_picture_says_in_words_what_it_shows() -> None:
    """Title and description carry the numbers with their unit, for whoever does not see the bars."""
    row = one(50.0, 80.0, 90.0, 100.0)
    assert row.attributes["role"] == "img"
    assert row.all("title")[0].text == "copy"
    said = "50 GB/s in this run, 44 % below the median 90 GB/s (80 to 100) of 3 earlier runs"
    assert row.all("desc")[0].text == said


@pytest.mark.parametrize(
    ("value", "earlier", "said"),
    [
        (50.0, (50.0,), "like the median 50 GB/s of 1 earlier run"),
        (55.0, (50.0,), "10 % above the median 50 GB/s of 1 earlier run"),
        (1.0, (0.0, 0.0), "median 0 GB/s (0 to 0) of 2 earlier runs"),
    ],
)
def test_the_difference_is_in_percent_of_the_median(value: float, earlier: tuple[float, ...], said: str) -> None:
    """A median of zero has no percent."""
    assert one(value, *earlier).all("desc")[0].text.endswith(said)


def test_times_share_one_scale() -> None:
    """A check of 20 s has a bar three times as long as one of 6.4 s, and the longest nearly fills the width."""
    rows = {row.all("title")[0].text: row for row in charts(render(REPORT, EARLIER))}
    compiled, sharded = (percent(drawn(rows[title], "now"), "width") for title in ("torch.compile", "FSDP2"))
    assert compiled / sharded == pytest.approx(19.8 / 6.4, rel=0.01)
    assert percent(drawn(rows["GPU memory"], "now"), "width") == pytest.approx(95.24, abs=0.01)


def test_only_the_slowest_have_a_bar() -> None:
    """31 checks do not need 31 bars: the twelve that take long have one, the longest first."""
    rows = [row.all("title")[0].text for row in charts(render(REPORT, {}))][4:]
    assert len(rows) == 12
    assert rows[:3] == ["GPU memory", "torch.compile", "FSDP2"]


def test_what_took_no_time_or_was_skipped_has_no_bar() -> None:
    """A hundredth of the slowest check's time cannot be seen, and skipping is no work."""
    entries = (
        passed("long", "g", "Long", "fine", seconds=10.0),
        passed("short", "g", "Short", "fine", seconds=0.05),
        result("skipped", "g", "Skipped", Status.SKIP, "no GPU here", seconds=5.0),
    )
    rows = charts(render(replace(REPORT, results=entries), {}))
    assert [row.all("title")[0].text for row in rows] == ["Long"]


def test_the_first_run_says_that_there_is_none_to_compare_with() -> None:
    """Said once, without a legend of shapes that are not there."""
    document = parsed(render(REPORT, {}))
    assert document.text.count("There is no comparable earlier run") == 1
    assert not document.all("ul", "legend")


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_odd_numbers_break_no_picture(odd: float) -> None:
    """What is not a number has no bar and is left out of ranges; nothing is drawn outside the picture."""
    report = replace(
        REPORT, results=(passed("a", "g", "T", "fine", seconds=odd, figures={"x_gbs": odd, "y_gbs": -3.0}),)
    )
    rows = charts(render(report, {"y_gbs": (odd, -5.0, 4.0), "x_gbs": (1.0,)}))
    assert [row.all("title")[0].text for row in rows] == ["y"]
    assert percent(drawn(rows[0], "now"), "width") == 0
    assert percent(drawn(rows[0], "range"), "x") == 0


def test_figures_of_a_report_without_any_leave_out_the_picture() -> None:
    """Reused results took no time of their own."""
    report = replace(REPORT, results=(replace(passed("a", "g", "T", "fine"), reused=True),))
    assert "baseline" not in {node.attributes.get("id") for node in parsed(render(report, {})).all("section")}


def test_names_and_numbers_read_as_people_write_them() -> None:
    """Units come from a figure's name; digits that do not count are left out."""
    assert named("all_reduce_busbw_gbs") == ("all reduce busbw", "GB/s")
    assert named("matmul_tflops") == ("matmul", "TFLOP/s")
    assert named("loss") == ("loss", "")
    assert named("tokens_per_s") == ("tokens", "per second")
    assert named("step_ms") == ("step", "ms")
    assert [number(value) for value in (0.0, 3.14159, 228.04, 12345.6)] == ["0", "3.14", "228", "12,346"]
    assert [duration(value) for value in (0.0, 0.021, 6.0, 59.9)] == ["< 0.01 s", "0.02 s", "6.0 s", "59.9 s"]
    assert duration(108.0) == "1 min 48 s"
    assert [size(value) for value in (64 * 2**20, 80 * 2**30)] == ["64 MiB", "80 GiB"]
