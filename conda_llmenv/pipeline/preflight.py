"""``verify --quick``: look at what changes from day to day; the rest stands if nothing else has changed since."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from conda_llmenv.checks.moments import when
from conda_llmenv.checks.registry import in_order
from conda_llmenv.checks.verdict import RECORD, in_short, proves
from conda_llmenv.model import CheckResult, Finding, Level, Report, Status
from conda_llmenv.pipeline.verify import verify
from conda_llmenv.pipeline.verify_tools import VerifyRequest, VerifyTools

PROOF = "proof"
"""Id of the line that says whether a whole pass on this machine still stands for the environment as it is."""


def preflight(request: VerifyRequest, tools: VerifyTools) -> Report:
    """Return the quick level's report, completed from the last pass; without one it fails, since nothing proves it.

    An environment of which no more than the quick level is asked needs no earlier pass.
    """
    report, level = verify(request, tools), request.subject.level
    if level is Level.QUICK:
        return report  # it is all that is asked of this environment
    last = _last_run(report, tools.earlier(request.subject.prefix, report.fingerprint), level)
    if last is None or not proves(last):
        return replace(report, results=(*report.results, _unproven(last, request.subject.prefix, level)))
    looked_at = {result.id for result in report.results}
    kept = tuple(replace(result, reused=True) for result in last.results if result.id not in looked_at)
    return replace(
        report,
        results=in_order((*report.results, *kept)),
        reused_from=last.started,
        versions={**last.versions, **report.versions},
        ranks=last.ranks,
    )


def _last_run(report: Report, earlier: Iterable[Report], level: Level) -> Report | None:
    """Return the newest whole run of a level (or above) of this environment as it is, on this machine as it is."""
    return next(
        (
            one
            for one in earlier
            if one.whole and one.level >= level and not one.reused_from and _identity(one) == _identity(report)
        ),
        None,
    )


def _identity(report: Report) -> tuple[object, ...]:
    """Return what has to be the same for a pass to stand: what is installed, the machine, its driver and its cards."""
    host = report.host
    return report.prefix, report.fingerprint, report.hostname, host.driver, host.gpus, host.glibc, host.cpu_level


def _unproven(last: Report | None, prefix: Path, level: Level) -> CheckResult:
    if last is None:
        summary = f"no {level.word} run on this machine is on record for the environment as it is now"
    elif last.unproven:
        summary = f"the run of {when(last.started)} proves nothing: {last.unproven}"
    else:
        summary = f"the run of {when(last.started)} came to: {in_short(last)}"
    finding = Finding(
        Status.FAIL,
        summary,
        expected="a pass with the same packages, driver, cards and machine",
        fix=f"run `llmenv verify -p {shlex.quote(str(prefix))} --{level.word}` here once; --quick then takes seconds",
    )
    return CheckResult(PROOF, RECORD, "a whole pass is on record", Level.QUICK, finding)
