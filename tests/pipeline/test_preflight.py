"""``verify --quick``: which earlier run an environment still stands on."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.hardware import load_tables
from conda_llmenv.model import HostFacts, Level, ProbeEnd, ProbeRun, Report, Status
from conda_llmenv.pipeline.preflight import PROOF, preflight
from conda_llmenv.pipeline.verify_tools import Subject, VerifyRequest, VerifyTools
from tests.history.reports import STATE, host, report, result

FAILED = result(status=Status.FAIL)


def looked(*newest_first: Report, level: str = "full", facts: HostFacts | None = None) -> Report:
    """Return the preflight of an environment with these reports on record; it has no Python, so no probe is needed."""

    def probe(_prefix: Path, run: ProbeRun) -> ProbeEnd:
        raise AssertionError(run.probe)

    tools = VerifyTools(
        probe=probe,
        host=lambda: facts or host(),
        tables=load_tables,
        tier=lambda name: f"there is no tier {name}",
        has_python=lambda _prefix: False,
        fingerprint=lambda _prefix: STATE,
        earlier=lambda prefix, _state: newest_first if prefix else (),
        keep=lambda _report: (),
        mark=lambda _prefix, _phase, _reason: (),
        environ={},
        hostname="gpu-01",
    )
    return preflight(VerifyRequest(Subject(Path("/envs/sft"), settings={"level": level}), Level.QUICK), tools)


def unproved(found: Report) -> str:
    """Return why nothing proves the environment, empty where something does."""
    return next((one.finding.summary for one in found.results if one.id == PROOF), "")


def test_a_pass_stands_while_nothing_has_changed() -> None:
    """What was not looked at is as it was then, and is marked so; what was looked at is as it is now."""
    proof = report("/envs/sft", 1, result("activation", Status.WARN), result("imports"))
    found = looked(proof, report("/envs/sft", 0, FAILED))
    assert found.reused_from == proof.started
    assert {(one.id, one.reused) for one in found.results} >= {("activation", False), ("imports", True)}
    assert next(one.status for one in found.results if one.id == "activation") is Status.PASS
    assert found.ranks == proof.ranks
    assert found.versions["torch"] == proof.versions["torch"]


def test_what_is_no_whole_run_of_this_state_takes_no_proof_away() -> None:
    """Later preflights, partial runs and runs of another environment or machine say nothing of this one."""
    others = (
        report("/envs/other", 6, FAILED),
        report("/envs/sft", 5, FAILED, fingerprint="ab" * 32),
        report("/envs/sft", 4, FAILED, hostname="gpu-02"),
        report("/envs/sft", 3, FAILED, whole=False),
        report("/envs/sft", 2, FAILED, level=Level.QUICK),
        report(day=1, reused_from="2026-11-03T08:00:00+00:00"),
    )
    assert looked(*others, report(day=0, level=Level.DEEP)).reused_from == report(day=0).started


@pytest.mark.parametrize(
    ("newest", "reason"),
    [
        (report("/envs/sft", 1, FAILED), "the run of 2026-11-03 08:00 UTC came to: failed"),
        (report("/envs/sft", 1, result(status=Status.ERROR)), "came to: could not be run"),
        (report("/envs/sft", 1, result(status=Status.SKIP)), "came to: nothing checked"),
        (report("/envs/sft", 1, unproven="no GPU here"), "proves nothing: no GPU here"),
    ],
)
def test_after_a_failure_an_earlier_pass_stands_no_more(newest: Report, reason: str) -> None:
    """It fails closed, and says what to run."""
    found = looked(newest, report(day=0))
    (line,) = [one for one in found.results if one.id == PROOF]
    assert line.status is Status.FAIL
    assert reason in line.finding.summary
    assert "llmenv verify -p /envs/sft --full" in line.finding.fix
    assert not found.reused_from


@pytest.mark.parametrize(
    "facts",
    [host(driver="590.44"), host(1), host(glibc="2.39"), host(cpu_level="x86_64_v4")],
    ids=["driver", "card", "glibc", "processor"],
)
def test_a_pass_is_of_its_machine(facts: HostFacts) -> None:
    """Another driver, card, C library or processor is to be tried anew."""
    assert unproved(looked(report(day=1), facts=facts)).startswith("no full run on this machine is on record")


def test_a_warned_pass_is_a_pass() -> None:
    """Warnings are allowed."""
    assert not unproved(looked(report("/envs/sft", 1, result(status=Status.WARN))))


def test_an_environment_of_which_less_is_asked_needs_no_record() -> None:
    """A recipe with `verify: {level: quick}` is looked at, and that is all."""
    assert not unproved(looked(level="quick"))
    assert unproved(looked(level="full"))
