"""Several real ranks under torchrun: what a clean environment shows, and what each planted fault comes to."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conda_llmenv.checks.outcome import judged
from conda_llmenv.checks.ranks import CHECKS
from conda_llmenv.checks.ranks_end import rank_to_blame
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import Finding, HostFacts, Observation, ProbeEnd, ProbeRun, Status
from conda_llmenv.probes.running import run_probe
from tests.torchenv import BreakEnv

PLANTED = Path(__file__).with_name("planted.py")

ALL = tuple(check.id for check in CHECKS)

STEPS = ("ddp-step", "fsdp-step")

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("ranks")]


@dataclass
class Launch:
    """One launch of the probe and what became of it."""

    prefix: Path
    run: ProbeRun
    end: ProbeEnd = field(default_factory=ProbeEnd)

    @property
    def seen(self) -> dict[str, tuple[Observation, ...]]:
        """The observations by check."""
        found: dict[str, tuple[Observation, ...]] = {}
        for one in self.end.observations:
            found[one.check] = (*found.get(one.check, ()), one)
        return found

    def finding(self, check: str) -> Finding:
        """Return what a check comes to."""
        scene = Scene(str(self.prefix), HostFacts("linux-64"), load_tables(), seen=self.seen)
        return judged(next(one for one in CHECKS if one.id == check), scene, [(self.run, self.end)])

    def summary(self, check: str) -> str:
        """Return the sentence of a check that failed, with those of what else is wrong."""
        finding = self.finding(check)
        assert finding.status is Status.FAIL, finding
        assert finding.fix
        return "\n".join((finding.summary, *finding.detail))


def launch(
    prefix: Path,
    checks: tuple[str, ...] = ALL,
    *,
    planted: str = "",
    ranks: int = 2,
    timeout: float = 120.0,
    asked: Mapping[str, object] | None = None,
) -> Launch:
    """Launch the probe to its end; nothing of it may be left, whatever that was."""
    mark = uuid.uuid4().hex
    environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LAUNCHED": mark}
    if planted:
        environ["PLANTED"] = planted
    run = ProbeRun("ranks", checks, {"world": ranks, "backend": "gloo", **(asked or {})}, timeout, ranks)
    launched = Launch(prefix, run, run_probe(prefix, run, environ))
    assert alive(f"LAUNCHED={mark}") == []
    return launched


def alive(entry: str) -> list[str]:
    """Return the command lines of living processes with an entry in their environment."""
    return [
        _read(folder / "cmdline").decode(errors="replace")
        for folder in Path("/proc").glob("[0-9]*")
        if entry.encode() in _read(folder / "environ").split(b"\0")
    ]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # gone meanwhile
        return b""


@pytest.fixture
def broken(broken_env: BreakEnv) -> Path:
    """An environment whose torch gets the faults of the variable ``PLANTED`` when it is loaded."""
    return broken_env({"planted.py": PLANTED.read_text(encoding="utf-8"), "planted.pth": "import planted\n"})


def test_clean_environment_passes_with_two_ranks(torch_env: Path) -> None:
    """Every check passes, each message fits one unbroken write, and bandwidth is told as figures."""
    launched = launch(torch_env)
    findings = {check.id: launched.finding(check.id) for check in CHECKS}
    assert {finding.status for finding in findings.values()} == {Status.PASS}, findings
    assert findings["bandwidth"].figures["gloo_all_reduce_busbw_gbs"] > 0
    assert all(len(repr(dict(one.values))) < 3600 for one in launched.end.observations)
    assert launched.end.returncode == 0


def test_rank_that_adds_a_wrong_value_and_makes_other_parameters(broken: Path) -> None:
    """A sum that one rank spoils fails by value; another seed, shuffle and a late parameter are told apart."""
    launched = launch(broken, planted="wrong-value,other-seed,other-shuffle,late-parameter", asked={"small": True})
    assert "all_reduce SUM is wrong on each of 2 ranks" in launched.summary("collectives")
    assert launched.finding("collectives").expected == "13831"
    steps = launched.summary("ddp-step")
    assert "rank 1 of 2 makes other parameters than the rest from the same seed" in steps
    assert "a rank shuffles with another seed" in steps
    assert "rank 1 of 2 holds other values of 2.bias: stale parameters" in steps
    assert "another seed" in launched.summary("fsdp-step")


def test_uneven_shard_and_stale_parameter(broken: Path) -> None:
    """The rank with fewer samples and the parameter that an optimizer left alone are named."""
    launched = launch(broken, STEPS, planted="uneven-shard,stale-parameter")
    steps = launched.summary("ddp-step")
    assert "DistributedSampler gives rank 1 of 2 an uneven shard: 8, 5 of 16 samples" in steps
    assert "a stale parameter: 0.weight did not change in 3 AdamW steps on rank 1 of 2" in steps
    assert launched.finding("fsdp-step").status is Status.PASS


def test_missing_division_and_narrower_arithmetic(broken: Path) -> None:
    """A sum that is not divided is told from bfloat16 arithmetic, and the rank where the latter begins is named."""
    steps = launch(broken, ("ddp-step",), planted="bfloat16,sum-not-divided").summary("ddp-step")
    assert "float64 gradients under DDP on each of 2 ranks are 2 times those of a single process" in steps
    assert "missing 1/n" in steps
    assert "arithmetic in bfloat16" in steps
    assert "it begins on rank 1 of 2" in steps


def test_exception_of_every_rank_is_the_reason(broken: Path) -> None:
    """What all ranks raise is what a person reads; later checks of the same ranks are not said to have passed."""
    launched = launch(broken, STEPS, planted="no-ddp")
    assert "RuntimeError: DDP is not for you" in launched.summary("ddp-step")
    assert len(launched.seen["ddp-step"]) == 2
    assert launched.finding("fsdp-step").status in {Status.ERROR, Status.SKIP}


def test_rank_that_sleeps_is_named_by_the_one_that_waits(broken: Path) -> None:
    """A collective has a limit of its own: the rank that waited says so, and the other is named."""
    launched = launch(broken, ("collectives",), planted="sleeps", asked={"small": True, "limit": 3})
    assert not launched.end.timed_out
    assert launched.end.returncode != 0
    assert launched.end.last_steps == {0: "gave up: broadcast of 1001 int64", 1: "broadcast of 1001 int64"}
    assert rank_to_blame(launched.run, launched.end) == (
        "rank 1 of 2 never came through broadcast of 1001 int64, and the rest waited in vain"
    )
    assert "rank 1 was at: broadcast of 1001 int64" in launched.summary("collectives")


def test_hard_limit_ends_every_rank_and_what_they_started(broken: Path) -> None:
    """Where no rank gives up, the limit of the launch ends them all, with what hid in a session of its own."""
    launched = launch(broken, ("collectives",), planted="hides-a-child", timeout=15, asked={"small": True})
    assert launched.end.timed_out
    assert launched.end.at_work == ("collectives",)
    assert launched.end.last_steps == dict.fromkeys((0, 1), "broadcast of 1001 int64")
    assert launched.end.strays
    assert "rank 0 was at: broadcast of 1001 int64" in launched.summary("collectives")


@pytest.mark.parametrize(
    ("planted", "how"), [("leaves", "ended with exit code 7"), ("is-killed", "was killed by SIGKILL")]
)
def test_rank_that_dies_is_named(broken: Path, planted: str, how: str) -> None:
    """The launch ends at once with a failure, and how the rank died is told."""
    launched = launch(broken, ("collectives",), planted=planted, asked={"small": True})
    assert launched.end.returncode != 0
    assert launched.end.at_work == ("collectives",)
    assert rank_to_blame(launched.run, launched.end) == f"rank 1 of 2 {how} in broadcast of 1001 int64"
    assert "rank 1 was at: broadcast of 1001 int64" in launched.summary("collectives")


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_thirty_clean_launches_give_no_false_alarm(torch_env: Path) -> None:
    """No check fails or warns in thirty launches of two ranks and three of four."""
    for ranks in (*[2] * 30, *[4] * 3):
        launched = launch(torch_env, ranks=ranks)
        findings = {check.id: launched.finding(check.id) for check in CHECKS}
        assert {finding.status for finding in findings.values()} == {Status.PASS}, findings
