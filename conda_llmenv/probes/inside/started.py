"""Runs a program of the environment to its end with everything it starts, for a probe that must outlive it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import NamedTuple


class Ended(NamedTuple):
    """How a program ended: ``returncode`` is None where it was ended for taking too long."""

    returncode: int | None
    output: str
    complaints: str


def run_to_end(argv: list[str], environ: dict[str, str], patience: float) -> Ended:
    """Run a program in a process group of its own; after ``patience`` seconds, and at its end, end the whole group."""
    program = subprocess.Popen(
        argv,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    returncode: int | None = None
    try:
        output, complaints = program.communicate(timeout=patience)
        returncode = program.returncode
    except subprocess.TimeoutExpired:
        end_group(program.pid)
        output, complaints = program.communicate()
    finally:
        end_group(program.pid)
        program.wait()
    return Ended(returncode, output.decode("utf-8", "replace"), complaints.decode("utf-8", "replace"))


def end_group(group: int) -> None:
    """Kill every process of a group; one that is gone is as wanted."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def last_lines(text: str, lines: int) -> list[str]:
    """Return the last lines of an output that say something, each cut to a length that fits a report."""
    return [line[:300] for line in text.splitlines() if line.strip()][-lines:]


def ending(returncode: int) -> str:
    """Return how a process ended, a signal by its name."""
    if returncode >= 0:
        return "the process ended with exit code " + str(returncode)
    return "the process was ended by " + signal.Signals(-returncode).name
