"""The one sentence at the end of a report, and the exit code that goes with it."""

from __future__ import annotations

from collections.abc import Iterable

from conda_llmenv.checks.moments import when
from conda_llmenv.model import CheckResult, Level, Report, Status

COULD_NOT_RUN = 3
"""Exit code where nothing failed but something could not be run."""

RECORD = "record"
"""Group of the line by which a preflight says whether a whole pass is on record; every other line is about a check."""

WORST_FIRST = (Status.FAIL, Status.ERROR, Status.WARN, Status.SKIP, Status.PASS)

WORDS = {
    Status.FAIL: "failed",
    Status.ERROR: "could not be run",
    Status.WARN: "warned",
    Status.SKIP: "skipped",
    Status.PASS: "passed",
}


def worst_first(results: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """Return results with the worst status first, otherwise in the order of the ladder."""
    return tuple(sorted(results, key=lambda result: WORST_FIRST.index(result.status)))


def exit_code(report: Report, *, strict: bool = False) -> int:
    """Return 0 for a pass, 1 where a check failed (or warned, if strict), 3 where one could not be run."""
    statuses = {result.status for result in report.results}
    if Status.FAIL in statuses or (strict and Status.WARN in statuses):
        return 1
    return COULD_NOT_RUN if Status.ERROR in statuses else 0


def passed(report: Report) -> bool:
    """Return whether nothing failed and everything that should have run did."""
    return exit_code(report) == 0


def proves(report: Report) -> bool:
    """Return whether the report makes an environment `verified`: a whole run that passed, on hardware it is for."""
    good = passed(report) and bool(report.by_status(Status.PASS, Status.WARN))
    return good and report.whole and not report.unproven and not report.reused_from


def sentence(report: Report) -> str:
    """Return the verdict: the worst finding, else what a pass is worth; ``failed: /dev/shm has 64 MB; …``."""
    if all(result.status is Status.SKIP for result in report.results):
        return "nothing was checked"
    first = worst_first(report.results)[0]
    if first.status in {Status.FAIL, Status.ERROR}:
        word = "failed" if first.status is Status.FAIL else "could not be checked"
        return f"{word}: {first.finding.summary}"
    if report.unproven:
        return f"passed, but not verified: {report.unproven}"
    if report.reused_from:
        return f"still good: nothing has changed since the pass of {when(report.reused_from)}"
    if not report.whole or report.level is Level.QUICK:
        return "passed"
    return "verified"


def counts(report: Report) -> str:
    """Return how many checks came to what, worst first: ``31 checks: 2 failed, 29 passed in 41 s``."""
    parts = [f"{len(those)} {WORDS[status]}" for status in WORST_FIRST if (those := report.by_status(status))]
    return f"{len(report.results)} checks: {', '.join(parts) or 'none'} in {report.seconds:.0f} s"


def in_short(report: Report) -> str:
    """Return what a report came to in a few words, for a table."""
    if report.by_status(Status.FAIL):
        return "no pass on record" if is_only_unrecorded(report) else "failed"
    if report.by_status(Status.ERROR):
        return "could not be run"
    if not report.by_status(Status.WARN, Status.PASS):
        return "nothing checked"
    word = "warned" if report.by_status(Status.WARN) else "passed"
    if not report.whole:
        return f"{word} (some checks)"
    return f"{word} ({report.level.word}{', unproven' if report.unproven else ''})"


def is_only_unrecorded(report: Report) -> bool:
    """Return whether a preflight found nothing wrong but that nobody has verified this environment on this machine."""
    failed = report.by_status(Status.FAIL, Status.ERROR)
    return bool(failed) and all(result.group == RECORD for result in failed)
