"""Whatever ends the process, at whatever file operation: the prefix is the old one, complete, absent, or marked."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conda_llmenv.prefix.removal import recover
from tests.prefix.kill import Fault, run_under_strace, strace_reason, syscall_points
from tests.prefix.scenario import ACTIONS, AT_ONCE, OLD, judge, litter, make

REPOSITORY = Path(__file__).parents[2]
SAMPLED = 6
"""Kill points tried of each action under strace; all of them in the long run."""


def environment(home: Path) -> dict[str, str]:
    """Return the variables for a program of these tests."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
    }


def program(*arguments: str) -> list[str]:
    """Return the command line of the scenario program."""
    return [sys.executable, "-m", "tests.prefix.scenario", *arguments]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("fault", ["kill", "once", "full", "read-only"])
def test_every_operation_may_fail(action: str, fault: str, tmp_path: Path) -> None:
    """What is left recovers, the failure is one sentence of ours, and the next create works.

    At every single operation: SIGKILL, an I/O error, a disk that gets full or read-only (rows 1, 2, 5, 6, 7, 10).
    """
    done = subprocess.run(
        program("sweep", action, fault), capture_output=True, text=True, check=True, env=environment(tmp_path)
    )
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("action", ACTIONS)
def test_recovery_may_be_killed_too(action: str, tmp_path: Path) -> None:
    """A crash while an earlier crash is being settled changes nothing about what comes out."""
    command = program("sweep", action, "kill", "second")
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment(tmp_path))
    assert json.loads(done.stdout) == []


def kill_at(action: str, point: tuple[str, int], folder: Path) -> None:
    """Kill one run of an action at one system call, and check what is there then and after recovery."""
    _, has_old, allowed = ACTIONS[action]
    prefix = folder / "env"
    folder.mkdir()
    if has_old:
        make(prefix, OLD)
    syscall, at = point
    outcome = run_under_strace(program(action, str(prefix)), syscall, Fault(at), env=environment(folder / "home"))
    assert outcome.killed or not outcome.failure, outcome.failure
    assert judge(prefix) in AT_ONCE
    recover(prefix)
    assert judge(prefix) in allowed
    assert litter(prefix) == []
    shutil.rmtree(folder)


def points(action: str, tmp_path: Path) -> list[tuple[str, int]]:
    """Return every kill point of an undisturbed run."""
    (tmp_path / "count").mkdir()
    prefix = tmp_path / "count" / "env"
    if ACTIONS[action][1]:
        make(prefix, OLD)
    return syscall_points(program(action, str(prefix)), tmp_path / "log", env=environment(tmp_path / "home"))


@pytest.mark.skipif(strace_reason() is not None, reason=str(strace_reason()))
@pytest.mark.parametrize("action", ACTIONS)
def test_kill_at_system_calls(action: str, tmp_path: Path) -> None:
    """The same, at system calls of a real program (reliability row 1: SIGKILL at every rename)."""
    for point in random.Random(action).sample(points(action, tmp_path), SAMPLED):
        kill_at(action, point, tmp_path / "run")


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.skipif(strace_reason() is not None, reason=str(strace_reason()))
@pytest.mark.parametrize("action", ACTIONS)
def test_kill_at_every_system_call(action: str, tmp_path: Path) -> None:
    """Every kill point there is."""
    for point in points(action, tmp_path):
        kill_at(action, point, tmp_path / "run")
