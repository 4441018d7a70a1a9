"""Run whole processes in turn (A B A B …) and keep the operating system's own accounting of each."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LAUNCHER = str(Path(__file__).with_name("launch.py"))


@dataclass(frozen=True)
class Run:
    """One finished process tree: wall and CPU seconds, and peak memory in MiB of its largest process."""

    wall: float
    cpu: float
    peak: float


@dataclass(frozen=True)
class Command:
    """What to run, in which environment, and what has to happen before each run (not timed)."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    before: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Figures:
    """The runs of one command."""

    name: str
    runs: tuple[Run, ...]

    def median(self, attribute: str) -> float:
        """Return the median of ``wall``, ``cpu`` or ``peak``."""
        return float(statistics.median(getattr(run, attribute) for run in self.runs))

    def spread(self, attribute: str) -> tuple[float, float]:
        """Return the smallest and the largest of ``wall``, ``cpu`` or ``peak``."""
        values = [getattr(run, attribute) for run in self.runs]
        return min(values), max(values)


def run_once(command: Command) -> Run:
    """Run a command to its end and return its accounting.

    Raises:
        RuntimeError: it failed; its last lines are in the message.
    """
    command.before()
    with tempfile.NamedTemporaryFile("r") as accounting:
        argv = [sys.executable, "-I", "-S", LAUNCHER, accounting.name, *command.argv]
        started = time.monotonic()
        done = subprocess.run(argv, env=dict(command.env), cwd=command.cwd, capture_output=True, text=True, check=False)
        wall = time.monotonic() - started
        code, user, system, peak = accounting.read().split()
    if code != "0":
        raise RuntimeError(f"{command.name} failed with {code}:\n{(done.stdout + done.stderr)[-3000:]}")
    return Run(wall, float(user) + float(system), int(peak) / 1024)


def side_by_side(commands: Sequence[Command], runs: int) -> tuple[Figures, ...]:
    """Run the commands in turn, ``runs`` counted rounds after one that is not counted."""
    collected: list[list[Run]] = [[] for _ in commands]
    for number in range(runs + 1):
        for command, kept in zip(commands, collected, strict=True):
            run = run_once(command)
            if number:
                kept.append(run)
    return tuple(Figures(command.name, tuple(kept)) for command, kept in zip(commands, collected, strict=True))


def ratio(ours: Figures, other: Figures, attribute: str) -> float:
    """Return the median of the ratios of runs that stood side by side, so that a drifting machine cancels out."""
    pairs = zip(ours.runs, other.runs, strict=True)
    return float(statistics.median(getattr(a, attribute) / getattr(b, attribute) for a, b in pairs))
