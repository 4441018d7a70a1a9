"""How a process that did not tell everything came to its end, in words."""

from __future__ import annotations

import signal

from conda_llmenv.model import ProbeEnd, ProbeRun


def how_it_ended(run: ProbeRun, end: ProbeEnd) -> str:
    """Return the end of a probe as the rest of a sentence that begins with the probe."""
    if end.timed_out:
        return f"gave no answer in {run.timeout:.0f} s and was ended"
    if end.returncode < 0:
        return f"was killed by {signal_name(-end.returncode)}"
    return f"ended with exit code {end.returncode}"


def signal_name(number: int) -> str:
    """Return ``SIGKILL`` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
