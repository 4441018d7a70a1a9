"""A step that is much slower than it was is a warning, noise is none, and what cannot be compared is left alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from conda_llmenv.checks.baseline import FEWEST, compare, earlier_values
from conda_llmenv.model import CheckResult, Gpu, HostFacts, Level, Report, Status
from tests.history.reports import VERSIONS, host, report, result

TFLOPS = "bf16_tflops"


def single(value: float, day: float = 0.0, name: str = TFLOPS, *, gpus: int = 1, **more: Any) -> Report:
    """A report with one figure."""
    return report("/envs/sft", day, result(figures={name: value}, **more), gpus=gpus)


def timed(seconds: float, day: float = 0.0, *, gpus: int = 0, **more: Any) -> Report:
    """A report of one check that took some seconds."""
    return report("/envs/sft", day, result(seconds=seconds, **more), gpus=gpus)


def history(values: Sequence[float], name: str = TFLOPS, *, gpus: int = 1, **more: Any) -> list[Report]:
    """Reports with one figure each, a day apart."""
    return [single(value, day, name, gpus=gpus, **more) for day, value in enumerate(values)]


def compared(now: Report, earlier: Sequence[Report]) -> CheckResult:
    """The one result of a report after comparing."""
    (found,) = compare(now, earlier)
    return found


@pytest.mark.parametrize(
    ("now", "status", "word"),
    [
        (800.0, Status.PASS, ""),
        (760.0, Status.PASS, ""),
        (744.1, Status.PASS, ""),
        (743.0, Status.WARN, "only 0.93"),
        (690.0, Status.WARN, "only 0.86"),
        (679.0, Status.WARN, "has fallen to 0.85"),
        (400.0, Status.WARN, "has fallen to 0.50"),
        (0.0, Status.WARN, "has fallen to 0.00"),
        (1600.0, Status.PASS, ""),
    ],
)
@pytest.mark.parametrize("name", [TFLOPS, "busbw_gbs", "h2d_mbs"])
def test_throughput_of_a_gpu(now: float, status: Status, word: str, name: str) -> None:
    """Below 0.93 of the median a warning, below 0.85 a strong one; faster is no news."""
    found = compared(single(now, 9, name), history([800, 801, 799, 800], name))
    assert found.status is status
    assert word in found.finding.summary
    assert ("training here is slower" in found.finding.summary) == ("fallen" in word)


@pytest.mark.parametrize("count", range(5))
def test_three_passes_make_a_baseline(count: int) -> None:
    """With fewer nobody can tell what is usual."""
    found = compared(single(400, 9), history([800] * count))
    assert (found.status is Status.WARN) == (count >= FEWEST)


def test_the_finding_tells_what_was_compared() -> None:
    """Measured, baseline, how many and since when, on what they agree, what to type, and what the check itself said."""
    found = compared(
        single(612.4, 9, summary="all products agree", measured="1.6e-3", detail=("rank 0",)),
        history([800, 802, 801, 801]),
    ).finding
    assert found.summary == "bf16 has fallen to 0.76 of what it was: training here is slower by as much"
    assert found.measured == "612 TFLOP/s"
    assert found.expected == ("801 TFLOP/s, the median of 4 passes since 2026-11-02 with this card, driver and torch")
    assert "nvidia-smi" in found.fix
    assert found.detail == ("otherwise as it should be: all products agree: 1.6e-3", "rank 0")


@pytest.mark.parametrize("status", [Status.FAIL, Status.WARN])
def test_a_worse_status_keeps_its_words(status: Status) -> None:
    """A wrong sum matters more than a slow one; that it is slow as well is in the detail."""
    found = compared(single(400, 9, status=status, summary="the sum is wrong", fix="look"), history([800] * 3))
    assert (found.status, found.finding.summary, found.finding.fix) == (status, "the sum is wrong", "look")
    assert "has fallen to 0.50" in found.finding.detail[-1]
    assert "800 TFLOP/s" in found.finding.detail[-1]


@pytest.mark.parametrize("more", [{"status": Status.SKIP}, {"status": Status.ERROR}, {"reused": True}])
def test_what_was_not_measured_now_is_left_alone(more: dict[str, Any]) -> None:
    """Skipped, not run, or taken from an earlier pass."""
    now = single(1, 9, **more)
    assert compare(now, history([800] * 5)) == now.results


@pytest.mark.parametrize("gpus", [0, 1])
def test_seconds_of_a_check(gpus: int) -> None:
    """More than four times the median, more than a second late and beyond three deviations: all of it."""
    earlier = [timed(seconds, day, gpus=gpus) for day, seconds in enumerate([2.0, 2.1, 1.9, 2.0])]
    slow = compared(timed(10.0, 9, gpus=gpus), earlier)
    assert slow.status is Status.WARN
    assert slow.finding.summary == "the check is 5.0 times slower than it was"
    assert slow.finding.measured == "10 s"
    assert "2 s, the median of 4 passes" in slow.finding.expected
    for usual in (1.0, 2.0, 4.0, 7.5):
        assert compared(timed(usual, 9, gpus=gpus), earlier).status is Status.PASS


def test_what_is_late_by_less_than_a_second_is_not_told() -> None:
    """Five times a tenth of a second is the time of starting a process."""
    earlier = [timed(0.1, day) for day in range(5)]
    assert compared(timed(0.9, 9), earlier).status is Status.PASS
    assert compared(timed(1.2, 9), earlier).status is Status.WARN


def test_where_times_are_all_over_the_place_only_the_unusual_is_told() -> None:
    """A network disk with a cache: sometimes 2 seconds, sometimes 20."""
    earlier = [timed(seconds, day) for day, seconds in enumerate([2, 20, 3, 18, 9, 2, 21])]
    assert compared(timed(24, 9), earlier).status is Status.PASS
    assert compared(timed(90, 9), earlier).status is Status.WARN


@pytest.mark.parametrize(
    ("name", "group", "gpus"),
    [("read_mbs", "data", 1), ("checkpoint_gbs", "ranks", 8), ("cpu_tflops", "compute", 1), (TFLOPS, "compute", 0)],
)
def test_disks_and_processors_are_noisy(name: str, group: str, gpus: int) -> None:
    """Of them only less than a quarter is told, on a machine with a GPU as well."""
    earlier = history([800, 900, 700, 800], name, gpus=gpus, group=group)
    assert compared(single(250, 9, name, gpus=gpus, group=group), earlier).status is Status.PASS
    slow = compared(single(160, 9, name, gpus=gpus, group=group), earlier)
    assert slow.status is Status.WARN
    assert "5.0 times slower than it was" in slow.finding.summary


def test_a_torch_for_processors_is_noisy_beside_a_card() -> None:
    """The card is idle then."""
    versions = {"torch": "2.9.0+cpu"}
    earlier = [report("/envs/sft", day, result(figures={TFLOPS: 1.0}), gpus=1, versions=versions) for day in range(4)]
    now = report("/envs/sft", 9, result(figures={TFLOPS: 0.7}), gpus=1, versions=versions)
    assert compared(now, earlier).status is Status.PASS


def test_noise_of_a_tenth_never_alarms_and_five_times_always_does() -> None:
    """A thousand machines with processors whose times differ by ±10 %, runs of one and the next."""
    chance = random.Random(7)
    false, missed = 0, 0
    for _ in range(1000):
        usual = chance.uniform(1, 60)
        earlier = [timed(usual * chance.uniform(0.9, 1.1), day) for day in range(chance.randint(3, 12))]
        false += compared(timed(usual * chance.uniform(0.9, 1.1), 20), earlier).status is Status.WARN
        missed += compared(timed(usual * 5, 20), earlier).status is Status.PASS
    assert (false, missed) == (0, 0)


def test_noise_of_two_percent_never_alarms_on_a_gpu() -> None:
    """As throughputs of one card do from run to run; a tenth less is told."""
    chance = random.Random(7)
    false, missed = 0, 0
    for _ in range(1000):
        earlier = history([800 * chance.uniform(0.98, 1.02) for _ in range(chance.randint(3, 12))])
        false += compared(single(800 * chance.uniform(0.98, 1.02), 20), earlier).status is Status.WARN
        missed += compared(single(800 * 0.83, 20), earlier).status is Status.PASS
    assert (false, missed) == (0, 0)


def test_a_figure_that_varies_anyway_has_to_fall_far() -> None:
    """Between 0.85 and 0.93, only what is unusual for that figure."""
    varied = [800, 700, 860, 760, 900, 820, 740]
    assert compared(single(735, 9), history(varied)).status is Status.PASS
    assert compared(single(660, 9), history(varied)).status is Status.WARN


OTHERS: dict[str, dict[str, Any]] = {
    "another card": {"host": HostFacts("linux-64", driver="580.95.05", gpus=(Gpu("NVIDIA L4"),))},
    "more cards": {"host": host(2)},
    "another driver": {"host": host(1, driver="590.44")},
    "another torch": {"versions": {**VERSIONS, "torch": "2.10.0"}},
    "another level": {"level": Level.QUICK},
    "other world sizes": {"ranks": (8,)},
}


@pytest.mark.parametrize("fields", OTHERS.values(), ids=OTHERS)
def test_only_like_is_compared_with_like(fields: dict[str, Any]) -> None:
    """Another card, driver or torch is another speed; another level measures something smaller."""
    good = result(figures={TFLOPS: 800.0})
    earlier = [report("/envs/sft", day, good, **{"gpus": 1, **fields}) for day in range(5)]
    assert compared(single(300, 9), earlier).status is Status.PASS
    assert earlier_values(single(300, 9), earlier) == {}


def test_cards_are_compared_across_machines_and_processors_are_not() -> None:
    """A node with the same card has to be as fast; of a processor only its own machine tells."""
    fast: dict[str, Any] = {"hostname": "node-1"}
    cards = [report("/envs/sft", day, result(figures={TFLOPS: 800.0}), gpus=1, **fast) for day in range(3)]
    assert compared(single(400, 9), cards).status is Status.WARN
    processors = [report("/envs/sft", day, result(seconds=5.0), **fast) for day in range(3)]
    assert compared(timed(50, 9), processors).status is Status.PASS


@pytest.mark.parametrize("fields", [{"cpus": 4}, {"cpu_level": "x86_64_v4"}])
def test_a_machine_that_has_been_resized_is_another_one(fields: dict[str, Any]) -> None:
    """A virtual machine keeps its name."""
    earlier = [report("/envs/sft", day, result(seconds=5.0), host=host(**fields)) for day in range(3)]
    assert compared(timed(50, 9), earlier).status is Status.PASS


def test_what_failed_warned_or_came_later_is_no_measure() -> None:
    """A slow week does not become the new normal, and a report is not compared with itself."""
    good = history([800, 800, 800])
    slow = [single(400, 3 + day, status=Status.WARN) for day in range(20)]
    failed = [report("/envs/sft", 30, result(status=Status.FAIL), result("b", figures={TFLOPS: 1.0}), gpus=1)]
    reused = [single(400, 40 + day, reused=True) for day in range(20)]
    later = [single(400, 300 + day) for day in range(20)]
    now = single(400, 200)
    found = compared(now, [*later, *reused, *failed, *slow, *good, now])
    assert found.status is Status.WARN
    assert "median of 3 passes since 2026-11-02" in found.finding.expected


def test_a_long_history_counts_by_its_newest_part() -> None:
    """What was usual a year ago is not any more."""
    old, new = [400.0] * 100, [800.0] * 30
    found = compared(single(600, 500), history([*old, *new]))
    assert "median of 30 passes since 2027-02-10" in found.finding.expected


def test_the_order_of_reports_does_not_matter() -> None:
    """Nor do those that have nothing to do with it."""
    earlier = [*history([800, 790, 810, 805, 795]), timed(3, 2), report("/envs/other", 1)]
    shuffled = list(earlier)
    random.Random(1).shuffle(shuffled)
    now = single(500, 9)
    assert compare(now, earlier) == compare(now, reversed(earlier)) == compare(now, iter(shuffled))


def test_the_worst_of_several_leads() -> None:
    """The others are in the detail."""
    figures = [{"a_gbs": 100.0, "b_gbs": 100.0, "c_gbs": 100.0}] * 3
    earlier = [report("/envs/sft", day, result(figures=one), gpus=8) for day, one in enumerate(figures)]
    now = report("/envs/sft", 9, result(figures={"a_gbs": 90.0, "b_gbs": 50.0, "c_gbs": 99.0}), gpus=8)
    found = compared(now, earlier).finding
    assert found.summary.startswith("b has fallen to 0.50")
    assert found.detail[0] == (
        "a is only 0.90 of what it was: 90 GB/s, before 100 GB/s, the median of 3 passes since 2026-11-02 "
        "with this card, driver and torch"
    )


def test_every_result_is_returned_in_its_place() -> None:
    """The ladder keeps its order, and what is not slow is the same object's equal."""
    results = (result("a", seconds=1), result("b", figures={TFLOPS: 1.0}), result("c", Status.SKIP))
    now = report("/envs/sft", 9, *results, gpus=1)
    before = report("/envs/sft", 0, result("a", seconds=1), result("b", figures={TFLOPS: 9.0}), gpus=1)
    earlier = [report("/envs/sft", day, *before.results, gpus=1) for day in range(3)]
    found = compare(now, earlier)
    assert [one.id for one in found] == ["a", "b", "c"]
    assert (found[0], found[2]) == (results[0], results[2])
    assert found[1].status is Status.WARN


@pytest.mark.parametrize(
    ("name", "now", "slow"),
    [
        ("step_ms", 5000.0, True),
        ("step_ms", 900.0, False),
        ("step_s", 900.0, True),
        ("load_seconds", 900.0, True),
        ("tokens_per_s", 20.0, True),
        ("tokens_per_s", 900.0, False),
        ("loss", 900.0, False),
        ("error", 0.0, False),
        ("ranks", 1.0, False),
        ("_s", 900.0, True),
    ],
)
def test_the_end_of_a_name_says_what_is_better(name: str, now: float, slow: bool) -> None:  # noqa: FBT001 - a table
    """Times have to be short, rates high, and what has no known unit is no speed."""
    earlier = history([100, 100, 100], name, gpus=0)
    assert (compared(single(now, 9, name, gpus=0), earlier).status is Status.WARN) == slow


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.0], [0.0, 5.0, 0.0]])
@pytest.mark.parametrize("now", [0.0, 7.0])
def test_a_baseline_of_nothing_divides_nothing(values: list[float], now: float) -> None:
    """A figure that was zero."""
    assert compared(single(now, 9), history(values)).status is Status.PASS


def test_earlier_values_are_told_oldest_first() -> None:
    """For a picture: figures by their names, seconds by the check; those without a past are missing."""
    days = [(1.0, 800.0), (1.2, 810.0), (1.1, 790.0)]
    earlier = [
        report("/envs/sft", day, result(seconds=seconds, figures={TFLOPS: value}), gpus=1)
        for day, (seconds, value) in enumerate(days)
    ]
    now = report(
        "/envs/sft", 9, result(seconds=1.0, figures={TFLOPS: 800.0}), result("new", figures={"new_gbs": 1.0}), gpus=1
    )
    assert earlier_values(now, reversed(earlier)) == {
        TFLOPS: (800.0, 810.0, 790.0),
        "seconds:matmul": (1.0, 1.2, 1.1),
    }


def test_a_single_earlier_value_is_worth_a_picture() -> None:
    """Though no baseline."""
    assert earlier_values(single(1, 9), history([800])) == {TFLOPS: (800.0,)}
