"""How a report of the ladder reads in ``conda doctor``."""

from __future__ import annotations

from conda_llmenv.hooks.health import health_lines
from conda_llmenv.model import CheckResult, Finding, HostFacts, Level, Report, Status

FIX = "ask for a bigger /dev/shm: --shm-size=8g"


def result(name: str, status: Status, summary: str, fix: str = "") -> CheckResult:
    return CheckResult(name, "host", f"{name} is right", Level.QUICK, Finding(status, summary, "4 MB", "1 GB", fix))


def report(*results: CheckResult, reused_from: str = "") -> Report:
    return Report("/envs/sft", Level.QUICK, "2026-11-30T12:00:00+00:00", 2.0, results, HOST, reused_from=reused_from)


HOST = HostFacts("linux-64")
SHM = result("shm", Status.FAIL, "/dev/shm has 4 MB", FIX)
NOFILE = result("nofile", Status.WARN, "1024 open files", "ulimit -n 65536")
FINE = result("python", Status.PASS, "CPython 3.12.4")


def test_a_pass_is_one_line() -> None:
    """Nothing but the marked sentence and the blank line that conda's own checks end with."""
    line, blank = health_lines(report(FINE, reused_from="2026-11-29T08:00:00+00:00"), "✅", verbose=False)
    assert line.startswith("✅ llmenv: still good: nothing has changed since the pass of 2026-11-29")
    assert not blank


def test_what_is_wrong_is_told_in_full() -> None:
    """A failure comes before a warning; both with what was measured and a next step."""
    lines = health_lines(report(FINE, NOFILE, SHM), "❌", verbose=False)
    assert lines[0] == "❌ llmenv: failed: /dev/shm has 4 MB"
    text = "\n".join(lines)
    assert "failed: shm: /dev/shm has 4 MB\n  measured 4 MB, expected 1 GB\n" in text
    assert f"  fix  {FIX}" in text
    assert text.index("failed: shm") < text.index("warned: nofile: 1024 open files")
    assert "CPython" not in text


def test_every_check_where_details_are_asked_for() -> None:
    """One line each, and how many there are."""
    text = "\n".join(health_lines(report(FINE, NOFILE), "✅", verbose=True))
    assert "  ✓ python: CPython 3.12.4" in text
    assert "  ! nofile: 1024 open files" in text
    assert "2 checks: 1 warned, 1 passed" in text


def test_what_was_not_measured_is_left_out_and_what_is_cut_is_counted() -> None:
    """No gap where a check measures nothing; a hundred ranks do not fill the screen, and nobody is kept in the dark."""
    ranks = tuple(f"rank {rank} was at: barrier" for rank in range(100))
    finding = Finding(Status.FAIL, "the ranks hang", expected="an answer within 60 s", detail=ranks)
    lines = health_lines(report(CheckResult("collectives", "ranks", "", Level.FULL, finding)), "❌", verbose=False)
    assert "  expected an answer within 60 s" in lines
    assert "  rank 0 was at: barrier" in lines
    assert "  … and 84 more; `llmenv verify --json` has all of them" in lines


def test_a_sentence_that_names_its_check_is_not_told_twice() -> None:
    """What a probe's end comes to names the check, since the verdict shows the sentence alone."""
    finding = Finding(Status.ERROR, "matmul: the probe was killed by SIGSEGV")
    lines = health_lines(report(CheckResult("matmul", "compute", "", Level.FULL, finding)), "❌", verbose=True)
    assert lines[0] == "❌ llmenv: could not be checked: matmul: the probe was killed by SIGSEGV"
    assert "could not be run: matmul: the probe was killed by SIGSEGV" in lines
    assert any(line.endswith(" matmul: the probe was killed by SIGSEGV") for line in lines)
