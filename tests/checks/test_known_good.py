"""Which combination worked, and who speaks for it."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.checks.known_good import combinations, last_good, parts
from conda_llmenv.checks.verdict import in_short
from conda_llmenv.model import Gpu, HostFacts, Level, Report, Status
from tests.history.reports import STATE, VERSIONS, report, result

FAILED = result(status=Status.FAIL, summary="the sum is wrong")


def test_a_combination_is_card_driver_cuda_torch_and_libraries() -> None:
    """With their versions; what is not there is empty."""
    of = parts(report(gpus=8, versions={**VERSIONS, "deepspeed": "0.18.2", "trl": "0.25"}))
    assert (of.card, of.driver, of.cuda, of.torch) == ("NVIDIA H200 ×8", "580.95.05", "12.8", "2.9.0")
    assert of.models == "transformers 4.57.1, trl 0.25"
    assert of.accelerators == "accelerate 1.12.0, deepspeed 0.18.2"
    assert of.fingerprint == STATE
    nothing = parts(report(versions={}, fingerprint=""))
    assert (nothing.card, nothing.driver, nothing.torch, nothing.models) == ("no GPU", "", "", "")


def test_different_cards_in_one_machine_are_counted_apart() -> None:
    """A workstation with two of one kind and one of another."""
    gpus = (Gpu("NVIDIA A100"), Gpu("NVIDIA T4"), Gpu("NVIDIA A100"))
    assert parts(report(host=HostFacts("linux-64", gpus=gpus))).card == "NVIDIA A100 ×2, NVIDIA T4 ×1"


def test_each_combination_is_listed_once_newest_first() -> None:
    """A preflight a day is one line, and so are sixteen nodes with one environment."""
    new: dict[str, Any] = {"versions": {**VERSIONS, "torch": "2.10.0"}, "fingerprint": "ab" * 32}
    reports = [report(day=9, **new), *(report(day=day, hostname=f"node-{day}") for day in range(8, 0, -1))]
    found = combinations(reports)
    assert [(row.parts.torch, row.runs) for row in found] == [("2.10.0", 1), ("2.9.0", 8)]
    assert found[1].report == reports[1]


def spoken(*newest_first: Report) -> Report:
    """Who speaks for the one combination of these."""
    (row,) = combinations(newest_first)
    return row.report


def test_a_whole_pass_speaks_louder_than_a_later_preflight() -> None:
    """Known good is what was proved, not what was glanced at."""
    proof = report(day=1, level=Level.DEEP)
    later = (
        report(day=4, level=Level.QUICK),
        report(day=3, level=Level.DEEP, reused_from="x"),
        report(day=2, whole=False),
    )
    assert spoken(*later, proof, report(day=0, level=Level.DEEP)) == proof


def test_a_failure_since_the_pass_speaks_for_it() -> None:
    """What has broken is not known to be good."""
    broken = report("/envs/sft", 2, FAILED)
    assert spoken(broken, report(day=1)) == broken
    again = report(day=3)
    assert spoken(again, broken, report(day=1)) == again


def test_a_machine_without_a_pass_does_not_speak_against_one() -> None:
    """A preflight on another node of a shared environment fails since nobody has verified it there: none is broken."""
    unrecorded = report("/envs/sft", 2, result(), result("proof", Status.FAIL, group="record"), level=Level.QUICK)
    assert in_short(unrecorded) == "no pass on record"
    assert spoken(unrecorded, report(day=1)) == report(day=1)
    assert spoken(unrecorded) == unrecorded
    assert spoken(unrecorded, report("/envs/sft", 1, FAILED), report(day=0)).started.startswith("2026-11-03")


@pytest.mark.parametrize(
    ("fields", "results", "word"),
    [
        ({}, [result()], "passed (full)"),
        ({"level": Level.QUICK}, [result()], "passed (quick)"),
        ({}, [result(), result("b", Status.WARN)], "warned (full)"),
        ({}, [result(), result("b", Status.SKIP)], "passed (full)"),
        ({"unproven": "no GPU"}, [result()], "passed (full, unproven)"),
        ({"whole": False}, [result()], "passed (some checks)"),
        ({}, [FAILED, result("b", Status.ERROR)], "failed"),
        ({}, [result("b", Status.ERROR)], "could not be run"),
        ({}, [result("b", Status.SKIP)], "nothing checked"),
    ],
)
def test_verdicts(fields: dict[str, Any], results: list[Any], word: str) -> None:
    """One for each way a run can end."""
    assert in_short(report("/envs/sft", 0, *results, **fields)) == word


def test_the_last_good_run_is_whole_full_and_proved() -> None:
    """On the hardware it is for, and not taken from an earlier one."""
    good = report(day=1)
    worse = (
        report("/envs/sft", 6, FAILED),
        report(day=5, level=Level.QUICK),
        report(day=4, whole=False),
        report(day=3, unproven="no GPU"),
        report(day=2, reused_from="x"),
    )
    assert last_good([*worse, good, report(day=0)]) == good
    assert last_good(worse) is None
    assert last_good([]) is None
