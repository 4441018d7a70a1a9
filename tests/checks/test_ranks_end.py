"""Which rank ended a launch, from what the ranks told last and what torchrun wrote."""

from __future__ import annotations

import pytest

from conda_llmenv.checks.ranks_end import rank_to_blame
from conda_llmenv.model import ProbeEnd, ProbeRun


def torchrun(rank: int, code: int) -> tuple[str, ...]:
    """The end of torchrun's own summary; other failures stand before the root cause."""
    return (
        "Failures:",
        "[1]:",
        "  rank      : 0 (local_rank: 0)",
        "  exitcode  : 1 (pid: 10)",
        "------------------------------------------------------------",
        "Root Cause (first observed failure):",
        "[0]:",
        "  time      : 2026-11-30_19:33:04",
        f"  rank      : {rank} (local_rank: {rank})",
        f"  exitcode  : {code} (pid: 21290)  (SIGKILL)",
        "============================================================",
    )


@pytest.mark.parametrize(
    ("steps", "tail", "blamed"),
    [
        ({0: "gave up: barrier", 1: "barrier"}, torchrun(1, -9), "rank 1 of 2 was killed by SIGKILL in barrier"),
        ({0: "gave up: barrier", 1: "barrier"}, torchrun(1, 7), "rank 1 of 2 ended with exit code 7 in barrier"),
        ({0: "barrier", 1: "barrier"}, torchrun(0, -11), "rank 0 of 2 was killed by SIGSEGV in barrier"),
        ({0: "barrier", 1: "barrier"}, torchrun(0, -99), "rank 0 of 2 was killed by signal 99 in barrier"),
        (
            {0: "gave up: barrier", 1: "barrier"},
            torchrun(0, 1),
            "rank 1 of 2 never came through barrier, and the rest waited in vain",
        ),
        ({0: "barrier", 1: "barrier"}, (), ""),
        ({0: "gave up: barrier", 1: "gave up: barrier"}, torchrun(0, 1), ""),
        ({}, (), ""),
    ],
)
def test_rank_that_stands_out_is_named(steps: dict[int, str], tail: tuple[str, ...], blamed: str) -> None:
    """One that died of itself, or one that the others waited for; nobody where all are alike."""
    run = ProbeRun("ranks", ("collectives",), ranks=2)
    assert rank_to_blame(run, ProbeEnd(last_steps=steps, tail=tail, returncode=1)) == blamed
