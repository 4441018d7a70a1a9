"""From a probe's end to a line of the report: what was seen, what was not, and why."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.outcome import excuse, judged
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import CheckResult, Finding, Gpu, HostFacts, Level, Observation, ProbeEnd, ProbeRun, Status

GOOD = Finding(Status.PASS, "as it should be")
TABLES = load_tables()


def check(name: str = "sum", **more: Any) -> Check:
    """Return a check that passes whatever was seen."""
    return Check(
        id=name, title="it adds up", group="ranks", level=Level.FULL, judge=lambda _scene: GOOD, probe="p", **more
    )


def scene(*seen: Observation, host: HostFacts | None = None) -> Scene:
    """Return a scene in which this was seen."""
    found: dict[str, tuple[Observation, ...]] = {}
    for one in seen:
        found[one.check] = (*found.get(one.check, ()), one)
    return Scene("/env", host or HostFacts("linux-64"), TABLES, seen=found)


def result(status: Status, name: str = "torch-import") -> CheckResult:
    """Return what an earlier check came to."""
    return CheckResult(name, "runtime", "", Level.QUICK, Finding(status, ""))


RUN = ProbeRun("p", ("sum",), timeout=60.0)
TWO = ProbeRun("p", ("sum",), timeout=60.0, ranks=2)


def test_what_every_rank_saw_is_judged() -> None:
    """Both ranks answered, so the check itself decides."""
    seen = tuple(Observation("sum", {"value": 3}, rank=rank) for rank in (0, 1))
    assert judged(check(), scene(*seen), [(TWO, ProbeEnd(seen))]) == GOOD


def test_a_missing_rank_is_no_pass() -> None:
    """One of two ranks never said anything: that could not be run."""
    seen = (Observation("sum", {"value": 3}),)
    found = judged(check(), scene(*seen), [(TWO, ProbeEnd(seen, returncode=1, tail=("rank 1 is gone",)))])
    assert found.status is Status.ERROR
    assert found.summary == "sum: with 2 ranks the probe ended with exit code 1"
    assert found.detail == ("rank 1 is gone",)


def test_a_hang_fails_and_names_where_each_rank_was() -> None:
    """Row 49 (accelerate#885): the last step of every rank is told."""
    end = ProbeEnd(at_work=("sum",), last_steps={0: "all_reduce 1001", 1: "sleep"}, timed_out=True)
    found = judged(check(), scene(), [(TWO, end)])
    assert found.status is Status.FAIL
    assert found.summary == "sum: with 2 ranks the probe gave no answer in 60 s and was ended before it was done"
    assert found.detail[:2] == ("rank 0 was at: all_reduce 1001", "rank 1 was at: sleep")


def test_what_comes_after_a_hang_was_not_reached() -> None:
    """Only the cause fails; the next check of the same process is skipped, and is no pass either."""
    end = ProbeEnd(at_work=("sum",), timed_out=True)
    found = judged(check("ddp"), scene(), [(TWO, end)])
    assert found.status is Status.SKIP
    assert found.summary == "not reached: sum never ended"


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (ProbeEnd(returncode=-11), "was killed by SIGSEGV"),
        (ProbeEnd(returncode=-64), "was killed by SIGRTMAX"),
        (ProbeEnd(returncode=-99), "was killed by signal 99"),
        (ProbeEnd(returncode=127, tail=("/env/bin/python: No such file",)), "exit code 127"),
        (ProbeEnd(returncode=0), "exit code 0"),
        (ProbeEnd(timed_out=True, returncode=-9), "no answer in 60 s"),
    ],
)
def test_a_probe_that_said_nothing_could_not_be_run(end: ProbeEnd, words: str) -> None:
    """Never a pass, not even with exit code 0."""
    found = judged(check(), scene(), [(RUN, end)])
    assert found.status is Status.ERROR
    assert words in found.summary


def test_an_exception_fails_with_its_own_words_and_the_known_fix() -> None:
    """The error of the library is shown; what is known about it is the next step."""
    broken = Observation(
        "sum", rank=1, error="ImportError: libmkl.so.2: undefined symbol: iJIT_NotifyEvent", trace=("a", "b")
    )
    seen = (Observation("sum", {"value": 3}), broken)
    found = judged(check(fix="look closer"), scene(*seen), [(TWO, ProbeEnd(seen))])
    assert found.status is Status.FAIL
    assert found.summary.endswith("iJIT_NotifyEvent on rank 1")
    assert "mkl<2024.1" in found.fix


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "KeyError: 'n'"),
        ({"n": "many"}, "ValueError: could not convert"),
        ({"n": None}, "TypeError: float()"),
        ({"n": [{}]}, "TypeError: float()"),
    ],
)
def test_values_of_another_shape_are_no_pass_and_no_crash(values: dict[str, Any], says: str) -> None:
    """What a probe in a strange environment tells may be anything: then its check could not be run."""

    def positive(scene: Scene) -> Finding:
        return GOOD if float(scene.values("sum")["n"]) > 0 else Finding(Status.FAIL, "not positive")

    seen = (Observation("sum", values),)
    found = judged(replace(check(), judge=positive), scene(*seen), [(RUN, ProbeEnd(seen))])
    assert found.status is Status.ERROR
    assert found.summary == "sum: the probe told something that cannot be judged"
    assert found.measured.startswith(says)


def test_a_fault_in_judging_what_no_probe_told_is_a_fault() -> None:
    """Only what comes out of an environment is doubted."""

    def faulty(_scene: Scene) -> Finding:
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        judged(replace(check(), judge=faulty, probe=""), scene(), [])


@pytest.mark.parametrize("status", [Status.FAIL, Status.ERROR, Status.SKIP])
def test_what_stands_on_something_broken_is_not_tried(status: Status) -> None:
    """One cause, one failure."""
    found = excuse(check(needs=("torch-import",)), scene(), {"torch-import": result(status)})
    assert found is not None
    assert found.status is Status.SKIP
    assert "torch-import" in found.summary


@pytest.mark.parametrize("status", [Status.PASS, Status.WARN])
def test_a_warning_stops_nothing(status: Status) -> None:
    """What needs a check that warned is tried."""
    assert excuse(check(needs=("torch-import",)), scene(), {"torch-import": result(status)}) is None


def test_a_gpu_check_needs_a_card() -> None:
    """Without one it is skipped, with one it is tried."""
    found = excuse(check(gpu=True), scene(), {})
    assert found is not None
    assert found.summary == "no GPU here"
    assert excuse(check(gpu=True), scene(host=HostFacts("linux-64", gpus=(Gpu("NVIDIA L4"),))), {}) is None


def test_without_python_nothing_is_looked_at() -> None:
    """Neither in an environment that has none nor where the one it has does not run."""
    without = replace(scene(), has_python=False)
    found = excuse(check(), without, {})
    assert found is not None
    assert "no Python" in found.summary
    broken = excuse(check(), scene(), {"python": result(Status.ERROR, "python")})
    assert broken is not None
    assert broken.summary == "not tried, since python could not be run"


def test_a_torch_check_waits_until_it_is_known_whether_torch_is_there() -> None:
    """Before anything was seen it is tried; afterwards it is skipped where torch is not installed."""
    assert excuse(check(torch=True), scene(), {}) is None
    without = Observation("installed", {"torch": None, "names": []})
    found = excuse(check(torch=True), scene(without), {})
    assert found is not None
    assert found.summary == "torch is not installed"
    assert excuse(check(torch=True), scene(Observation("installed", {"torch": "2.13.0"})), {}) is None
