"""The one sentence at the end of a report, and the exit code that goes with it."""

from __future__ import annotations

from collections.abc import Iterable

from conda_llmenv.model import CheckResult, Level, Report, Status

COULD_NOT_RUN = 3
"""Exit code where nothing failed but something could not be run."""

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
    """Return the verdict, worst first, such as ``failed: DataLoader workers will die ... (2 of 31 checks)``."""
    first = next(iter(worst_first(report.results)), None)
    if first is None or not report.by_status(*WORST_FIRST[:3], Status.PASS):
        return "nothing was checked"
    if first.status in {Status.FAIL, Status.ERROR}:
        word = "failed" if first.status is Status.FAIL else "could not be checked"
        return f"{word}: {first.finding.summary}"
    if report.unproven:
        return f"passed, but not verified: {report.unproven}"
    if report.reused_from:
        return f"still good: nothing has changed since the pass of {_when(report.reused_from)}"
    if not report.whole or report.level is Level.QUICK:
        return "passed"
    return "verified"


def _when(started: str) -> str:
    """Return an ISO 8601 time as people write it, to the minute, UTC."""
    return f"{started[:16].replace('T', ' ')} UTC"


def counts(report: Report) -> str:
    """Return how many checks came to what, worst first: ``2 of 31 checks failed, 29 passed in 41 s``."""
    total = len(report.results)
    parts = [
        f"{len(those)} {WORDS[status]}" for status in WORST_FIRST if (those := report.by_status(status)) or not total
    ]
    return f"{total} checks: {', '.join(parts)} in {report.seconds:.0f} s"
