"""Killed at any moment, the prefix is the old environment, the new one, or absent; never a broken one called good."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.program import Program

POINTS = 60
SOAK_POINTS = 500
OLD, NEW = ("packaging",), ("six", "click")


def fingerprint(prefix: Path) -> dict[str, int]:
    """Return every file of an environment with its size; what records the time of day is left out."""
    return {
        str(path.relative_to(prefix)): path.lstat().st_size
        for path in prefix.rglob("*")
        if not path.is_dir() and "__pycache__" not in path.parts and path.relative_to(prefix).parts[0] != "conda-meta"
    }


def names(prefix: Path) -> set[str]:
    """Return the packages recorded in an environment."""
    return {path.name.rsplit("-", 2)[0] for path in (prefix / "conda-meta").glob("*.json")}


class Arena:
    """One prefix, references of the old and the new environment, and how long a creation takes."""

    def __init__(self, llmenv: Program, prefix: Path) -> None:
        self.llmenv = llmenv
        self.prefix = prefix
        self.old = self._reference(OLD)
        started = time.monotonic()
        self.new = self._reference(NEW)
        self.seconds = time.monotonic() - started

    def _reference(self, specs: tuple[str, ...]) -> tuple[dict[str, int], set[str]]:
        self.create(*specs)
        return fingerprint(self.prefix), names(self.prefix)

    def create(self, *specs: str) -> None:
        """Create or replace to the end."""
        ended = self.llmenv("create", "-p", self.prefix, "-y", "-q", "--no-verify", *specs)
        assert ended.code == 0, ended.text

    def clear(self) -> None:
        """Remove the environment and whatever stands beside it."""
        shutil.rmtree(self.prefix.parent, ignore_errors=True)

    def kill_after(self, seconds: float) -> None:
        """Start a creation and kill its whole process group after some seconds."""
        process = self.llmenv.start("create", "-p", self.prefix, "-y", "-q", "--no-verify", *NEW)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)

    def check(self, allowed: tuple[tuple[dict[str, int], set[str]], ...], remark: str) -> None:
        """Whatever conda would list must be one of the complete environments; anything else must say so."""
        listed = (self.prefix / "conda-meta" / "history").is_file()
        if listed and self._phase() == "created":
            assert (fingerprint(self.prefix), names(self.prefix)) in allowed, remark
        elif self.prefix.exists():
            assert self._phase() in ("creating", "none"), remark
        self.create(*NEW)
        assert (fingerprint(self.prefix), names(self.prefix)) == self.new, remark
        assert [path.name for path in self.prefix.parent.iterdir()] == [self.prefix.name], remark

    def _phase(self) -> str:
        if not (self.prefix / "conda-meta" / "llmenv" / "state.json").exists():
            return "none"
        return str(self.llmenv("info", "-p", self.prefix, "--json").result()["phase"])


def survive(arena: Arena, points: int, seed: int) -> None:
    """Kill creations and replacements at random moments and check what is left of each."""
    chance = random.Random(seed)
    for number in range(points):
        replacing = number % 2 == 1
        arena.clear()
        if replacing:
            arena.create(*OLD)
        moment = chance.uniform(0.25, 1.05) * arena.seconds
        arena.kill_after(moment)
        allowed = (arena.old, arena.new) if replacing else (arena.new,)
        arena.check(
            allowed, f"seed {seed}, point {number}, {'replacing' if replacing else 'new'}, after {moment:.3f} s"
        )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2])
def test_kill_anywhere(llmenv: Program, prefix: Path, seed: int) -> None:
    """After ``kill -9`` at a random moment nothing broken passes for good, and the next call finishes the work."""
    survive(Arena(llmenv, prefix), POINTS // 2, seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_kill_anywhere_for_long(llmenv: Program, prefix: Path) -> None:
    """The same with 500 points and a new seed each time; the seed is in the message."""
    survive(Arena(llmenv, prefix), SOAK_POINTS, seed=time.time_ns() % 1_000_000)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8])
def test_a_signal_takes_everything_back(llmenv: Program, prefix: Path, number: signal.Signals, share: float) -> None:
    """Ctrl-C, ``kill`` and a closed terminal leave no environment, no program and no file beside it."""
    arena = Arena(llmenv, prefix)
    arena.clear()
    process = llmenv.start("create", "-p", prefix, "-y", "--no-verify", *NEW)
    time.sleep(share * arena.seconds)
    os.kill(process.pid, number)
    _shown, told = process.communicate(timeout=60)
    if process.returncode == 0:
        assert names(prefix) == arena.new[1]  # it was done before the signal came
        return
    assert process.returncode in (128 + number, -number), told
    if (prefix / "conda-meta" / "history").is_file():  # it came between the commit and the last word
        assert (fingerprint(prefix), names(prefix)) == arena.new
        assert [path.name for path in prefix.parent.iterdir()] == [prefix.name]
        return
    assert not prefix.exists()
    assert not prefix.parent.exists() or list(prefix.parent.iterdir()) == []
