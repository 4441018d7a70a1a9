"""What has changed from one report to another."""

from __future__ import annotations

from conda_llmenv.checks.differences import Difference, differences
from conda_llmenv.model import Report, Status
from tests.history.reports import STATE, host, report, result


def changed(before: Report, after: Report) -> set[tuple[str, str, str, str]]:
    """The differences as plain tuples."""
    return {(one.kind, one.name, one.before, one.after) for one in differences(before, after)}


def test_a_report_differs_in_nothing_from_one_like_it() -> None:
    """Other times and seconds are no difference."""
    assert differences(report(day=0), report(day=1, seconds=99.0)) == ()


def test_what_changed_is_told_with_before_and_after() -> None:
    """Card, driver, versions that came, went or moved, the environment, and the machine."""
    before = report(gpus=8, tier="h200")
    after = report(
        host=host(4, driver="590.44", glibc="2.39"),
        versions={"python": "3.12.4", "torch": "2.10.0", "cuda": "12.8", "accelerate": "1.12.0", "peft": "0.18.0"},
        fingerprint="ab" * 32,
        hostname="gpu-02",
        llmenv="0.6.0",
    )
    assert changed(before, after) == {
        ("card", "card", "NVIDIA H200 ×8", "NVIDIA H200 ×4"),
        ("machine", "name", "gpu-01", "gpu-02"),
        ("machine", "driver", "580.95.05", "590.44"),
        ("machine", "glibc", "none", "2.39"),
        ("version", "torch", "2.9.0", "2.10.0"),
        ("version", "transformers", "4.57.1", "none"),
        ("version", "peft", "none", "0.18.0"),
        ("version", "llmenv", "0.5.0", "0.6.0"),
        ("environment", "fingerprint", STATE, "ab" * 32),
        ("environment", "tier", "h200", "none"),
    }


def test_checks_that_came_to_something_else_are_told_with_their_reason() -> None:
    """Another sentence for the same status is none; a check that only one has was not compared."""
    before = report("/e", 0, result("a"), result("b", summary="1"), result("gone"), result("c", Status.SKIP))
    after = report("/e", 1, result("a", Status.FAIL, summary="broke"), result("b", summary="2"), result("c"))
    assert differences(before, after) == (
        Difference("check", "a", "pass", "fail: broke"),
        Difference("check", "c", "skip: the sum is right", "pass"),
    )


def test_figures_that_moved_by_more_than_a_tenth_are_told() -> None:
    """Up or down; noise is not."""
    before = report("/e", 0, result(figures={"a_gbs": 100.0, "b_gbs": 100.0, "c_gbs": 100.0, "d_gbs": 1.0}))
    after = report("/e", 1, result(figures={"a_gbs": 85.0, "b_gbs": 95.0, "c_gbs": 125.0, "e_gbs": 1.0}))
    assert changed(before, after) == {
        ("figure", "matmul a_gbs", "100", "85"),
        ("figure", "matmul c_gbs", "100", "125"),
    }
