"""From what a probe saw, or failed to see, to one line of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conda_llmenv.checks.causes import known_fix
from conda_llmenv.checks.check import Check
from conda_llmenv.checks.endings import how_it_ended
from conda_llmenv.checks.ranks_end import rank_to_blame
from conda_llmenv.checks.scene import Scene
from conda_llmenv.checks.verdict import WORDS
from conda_llmenv.model import CheckResult, Finding, Observation, ProbeEnd, ProbeRun, Status

NO_PYTHON = "there is no Python in this environment to look with"

LAST_LINES = 8
"""Lines of a traceback, or of what a probe printed, that a finding keeps."""

Ended = Sequence[tuple[ProbeRun, ProbeEnd]]
"""The probe runs that looked for a check, and how each ended."""


def excuse(check: Check, scene: Scene, before: Mapping[str, CheckResult]) -> Finding | None:
    """Return why a check is not tried, or None where it is to be."""
    if check.probe and not scene.has_python:
        return Finding(Status.SKIP, NO_PYTHON)
    if check.gpu and not scene.has_gpu:
        return Finding(Status.SKIP, "no GPU here")
    if check.torch and scene.has("installed") and not scene.has_torch:
        return Finding(Status.SKIP, "torch is not installed")
    for name in check.everything_needed:
        needed = before.get(name)
        if needed is not None and needed.status in {Status.FAIL, Status.ERROR, Status.SKIP}:
            word = "was skipped" if needed.status is Status.SKIP else WORDS[needed.status]
            return Finding(Status.SKIP, f"not tried, since {name} {word}")
    return None


def judged(check: Check, scene: Scene, ended: Ended) -> Finding:
    """Return what a check comes to.

    One that began and never ended has failed; one that never began could not be run, which is no pass either.
    """
    for run, end in ended:
        if check.observed in end.at_work:
            return _cut_short(check, run, end)
    seen = scene.seen.get(check.observed, ())
    broken = next((one for one in seen if one.error), None)
    if broken is not None:
        return _raised(check, broken, several=len(seen) > 1)
    for run, end in ended:
        if not _answered(check, run, end):
            return _unseen(check, run, end)
    return _from_values(check, scene)


def _from_values(check: Check, scene: Scene) -> Finding:
    """Return what a check makes of values that an environment told, which may be no such values at all."""
    if not check.probe:
        return check.judge(scene)
    try:
        return check.judge(scene)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        said = f"{type(error).__name__}: {error}"
        return Finding(Status.ERROR, f"{check.id}: the probe told something that cannot be judged", measured=said)


def _answered(check: Check, run: ProbeRun, end: ProbeEnd) -> bool:
    ranks = {one.rank for one in end.observations if one.check == check.observed}
    return len(ranks) >= max(1, run.ranks)


def _cut_short(check: Check, run: ProbeRun, end: ProbeEnd) -> Finding:
    how = rank_to_blame(run, end) or f"{_subject(check, run)} {how_it_ended(run, end)} before it was done"
    steps = tuple(f"rank {rank} was at: {step}" for rank, step in end.last_steps.items())
    return Finding(
        Status.FAIL,
        how,
        measured=how_it_ended(run, end),
        expected=f"an answer within {run.timeout:.0f} s",
        fix=check.fix if end.timed_out else known_fix(end.tail) or check.fix,
        detail=(*steps, *end.tail[-LAST_LINES:]),
    )


def _raised(check: Check, broken: Observation, *, several: bool) -> Finding:
    where = f" on rank {broken.rank}" if several else ""
    first = (broken.error.splitlines() or ["an error without a text"])[0]
    fix = known_fix((broken.error, *broken.trace)) or check.fix
    detail = broken.trace[-LAST_LINES:]
    return Finding(Status.FAIL, f"{check.id}: {first}{where}", measured=first, fix=fix, detail=detail)


def _unseen(check: Check, run: ProbeRun, end: ProbeEnd) -> Finding:
    if end.at_work:
        return Finding(Status.SKIP, f"not reached: {', '.join(end.at_work)} never ended")
    return Finding(
        Status.ERROR,
        f"{_subject(check, run)} {how_it_ended(run, end)}",
        measured=how_it_ended(run, end),
        fix=known_fix(end.tail) or check.fix,
        detail=end.tail[-LAST_LINES:],
    )


def _subject(check: Check, run: ProbeRun) -> str:
    """Return what a sentence is about that has to say by itself which check it means: a verdict shows it alone."""
    return f"{check.id}: " + (f"with {run.ranks} ranks the probe" if run.ranks else "the probe")
