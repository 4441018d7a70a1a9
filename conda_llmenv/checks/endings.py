"""How a process that did not tell everything came to its end, in words."""

from __future__ import annotations

import signal

from conda_llmenv.model import ProbeEnd, ProbeRun


def how_it_ended(run: ProbeRun, end: ProbeEnd) -> str:
    """Return the end of a probe as the rest of a sentence that begins with the probe."""
    if end.timed_out:
        return f"gave no answer in {run.timeout:.0f} s and was ended"
    return how_it_left(end.returncode)


def how_it_left(returncode: int) -> str:
    """Return the end of a process from its exit status, which is negative for a signal."""
    return f"was killed by {signal_name(-returncode)}" if returncode < 0 else f"ended with exit code {returncode}"


def signal_name(number: int) -> str:
    """Return ``SIGKILL`` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
