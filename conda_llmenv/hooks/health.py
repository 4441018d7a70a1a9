"""``conda doctor``: does an environment of ours still work on this machine?"""

from __future__ import annotations

import shlex
from pathlib import Path

from conda_llmenv.checks.verdict import counts, passed, sentence, worst_first
from conda_llmenv.cli import console
from conda_llmenv.cli.verified import check_line, result_lines
from conda_llmenv.errors import LlmenvError
from conda_llmenv.model import Level, Phase, Report, Status
from conda_llmenv.prefix.state import read_state

FOREIGN = "llmenv did not make this environment, so it checks nothing here; `conda llmenv verify -p {prefix}` would.\n"


def check_health(prefix: str, *, verbose: bool) -> None:
    """Print what the quick level of the ladder says of an environment, the way conda's own checks print.

    One that is not ours is passed over, with a line where details are asked for. Whatever goes wrong is told as a
    finding: conda's other checks go on.
    """
    from conda.base.constants import OK_MARK, X_MARK

    try:
        state = read_state(Path(prefix))
        if state is None:
            lines = [FOREIGN.format(prefix=shlex.quote(prefix))] if verbose else []
        elif state.phase in {Phase.CREATING, Phase.FAILED}:
            lines = [f"{X_MARK} llmenv never finished this environment{_because(state.reason)}\n"]
        else:
            lines = _looked(Path(prefix), OK_MARK, X_MARK, verbose=verbose)
    except LlmenvError as error:
        details = [*error.details, *([f"hint: {error.hint}"] if error.hint else [])]
        lines = [f"{X_MARK} llmenv could not look: {error.message}", *(f"  {line}" for line in details), ""]
    except Exception as error:  # noqa: BLE001 - a fault of ours is no reason to lose conda's own checks
        lines = [f"{X_MARK} llmenv could not look, by a fault of its own: {type(error).__name__}: {error}\n"]
    for line in lines:
        console.out(line)


def _looked(prefix: Path, good: str, bad: str, *, verbose: bool) -> list[str]:
    from conda_llmenv.cli.verifying import run_ladder, subject_of
    from conda_llmenv.pipeline.verify_tools import VerifyRequest

    report, notices = run_ladder(VerifyRequest(subject_of(prefix), Level.QUICK))
    console.warn_all(notices)
    return health_lines(report, good if passed(report) else bad, verbose=verbose)


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def health_lines(report: Report, mark: str, *, verbose: bool) -> list[str]:
    """Return a report as conda doctor shows one: a marked sentence, what is wrong in full, every check if asked for."""
    wrong = worst_first(report.by_status(Status.FAIL, Status.ERROR, Status.WARN))
    lines = [f"{mark} llmenv: {sentence(report)}", ""]
    for result in wrong:
        lines += [*result_lines(result), ""]
    if verbose:
        lines += [*(f"  {check_line(result)}" for result in report.results), f"  {counts(report)}", ""]
    return lines
