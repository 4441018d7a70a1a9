"""One sentence, one exit code, and whether a report makes an environment `verified`."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from conda_llmenv.checks.verdict import counts, exit_code, proves, sentence, worst_first
from conda_llmenv.model import CheckResult, Finding, HostFacts, Level, Report, Status


def report(*statuses: Status, **more: object) -> Report:
    """Return a report with one result of each status."""
    results = tuple(
        CheckResult(f"check-{number}", "host", f"title {number}", Level.QUICK, Finding(status, f"summary {number}"))
        for number, status in enumerate(statuses)
    )
    return replace(
        Report("/env", Level.FULL, "2026-11-30T19:00:00+00:00", 41.2, results, HostFacts("linux-64")), **more
    )


@pytest.mark.parametrize(
    ("statuses", "code", "strict", "verified"),
    [
        ([Status.PASS, Status.SKIP], 0, 0, True),
        ([Status.PASS, Status.WARN], 0, 1, True),
        ([Status.PASS, Status.ERROR], 3, 3, False),
        ([Status.WARN, Status.ERROR], 3, 1, False),
        ([Status.ERROR, Status.FAIL], 1, 1, False),
    ],
)
def test_exit_codes(statuses: list[Status], code: int, strict: int, verified: bool) -> None:  # noqa: FBT001 - a table
    """0 works, 1 failed, 3 could not be run; a check that could not run never proves anything."""
    found = report(*statuses)
    assert exit_code(found) == code
    assert exit_code(found, strict=True) == strict
    assert proves(found) is verified


def test_the_worst_comes_first() -> None:
    """A failure before what could not be run, that before warnings; otherwise the order of the ladder."""
    found = report(Status.PASS, Status.WARN, Status.FAIL, Status.ERROR, Status.FAIL, Status.SKIP)
    assert [one.id for one in worst_first(found.results)] == [
        "check-2", "check-4", "check-3", "check-1", "check-5", "check-0",
    ]  # fmt: skip
    assert sentence(found) == "failed: summary 2"
    assert counts(found) == "6 checks: 2 failed, 1 could not be run, 1 warned, 1 skipped, 1 passed in 41 s"


def test_a_gpu_environment_is_not_proved_without_a_gpu() -> None:
    """The checks that could run passed, and still it is not verified."""
    found = report(Status.PASS, Status.SKIP, unproven="tier a100 is about a GPU and this machine has none")
    assert exit_code(found) == 0
    assert not proves(found)
    assert sentence(found) == "passed, but not verified: tier a100 is about a GPU and this machine has none"


@pytest.mark.parametrize("more", [{"whole": False}, {"reused_from": "2026-11-29T10:00:00+00:00"}])
def test_a_part_of_the_ladder_proves_nothing(more: dict[str, object]) -> None:
    """``--only`` and the preflight leave the state as it is."""
    assert not proves(report(Status.PASS, **more))


def test_nothing_seen_is_nothing_proved() -> None:
    """An environment in which every check was skipped has not been checked."""
    assert sentence(report(Status.SKIP, Status.SKIP)) == "nothing was checked"
    assert not proves(report(Status.SKIP, Status.SKIP))
    assert not proves(report())


def test_the_preflight_says_what_it_stands_on() -> None:
    """With the time of the pass, as people write it."""
    found = report(Status.PASS, reused_from="2026-11-29T10:15:00+00:00")
    assert sentence(found) == "still good: nothing has changed since the pass of 2026-11-29 10:15 UTC"
