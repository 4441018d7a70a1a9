"""Which rank made a launch of several end early, from the last steps they told and torchrun's own summary."""

from __future__ import annotations

import re
from collections.abc import Sequence

from conda_llmenv.checks.endings import how_it_left
from conda_llmenv.model import ProbeEnd, ProbeRun

GAVE_UP = "gave up: "
"""What a rank puts before its last step once it waits no longer; see ``probes/inside/process_group.py``."""

_FIRST_FAILURE = re.compile(r"Root Cause")
_RANK = re.compile(r"^\s*rank\s*:\s*(\d+)")
_CODE = re.compile(r"^\s*exitcode\s*:\s*(-?\d+)")


def rank_to_blame(run: ProbeRun, end: ProbeEnd) -> str:
    """Return a clause such as ``rank 1 of 2 was killed by SIGKILL in barrier``, empty where no rank stands out.

    A rank that raised has said so and left; torchrun then ends the others. So one that ended without having given up
    died of itself, and where all that ended had given up, the others are those that were waited for.
    """
    patient = {rank: step for rank, step in end.last_steps.items() if not step.startswith(GAVE_UP)}
    first = _first_failure(end.tail)
    if first is not None and first[0] in patient:
        rank, code = first
        return f"rank {rank} of {run.ranks} {how_it_left(code)} in {patient[rank]}"
    if patient and len(patient) < len(end.last_steps):
        names = " and ".join(f"rank {rank}" for rank in sorted(patient))
        step = patient[min(patient)]
        return f"{names} of {run.ranks} never came through {step}, and the rest waited in vain"
    return ""


def _first_failure(tail: Sequence[str]) -> tuple[int, int] | None:
    """Return rank and exit code of the process that torchrun saw fail first."""
    start = next((number for number, line in enumerate(tail) if _FIRST_FAILURE.search(line)), 0)
    ranks = [match for line in tail[start:] if (match := _RANK.search(line))]
    codes = [match for line in tail[start:] if (match := _CODE.search(line))]
    return (int(ranks[0][1]), int(codes[0][1])) if ranks and codes else None
