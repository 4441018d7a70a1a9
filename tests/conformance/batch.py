"""Asks an engine everything at once, in a process of the Python that has it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
from filelock import FileLock

from tests.conformance.cases import BASE, PLUGINS
from tests.conformance.messages import Answers, Question, encode
from tests.conformance.worker import CANNOT_RUN

ROOT = Path(__file__).parents[2]
SECONDS = 1500
"""For a whole batch; a stuck engine ends here and not never."""

CONDA_PYTHON = "CONDA_PYTHON"
"""Names the Python that has conda, and perhaps libmambapy."""


OPTIONAL = "libmamba"
"""The engine that a base environment may lack; where one of the others cannot run, something is broken."""


class EngineAbsent(Exception):
    """The engine cannot run here; the message says why."""


class WorkerDied(Exception):
    """The engine's process ended without an answer; the message has what it said."""


def python_of(solver: str) -> str:
    """Return the Python that runs a solver.

    Raises:
        EngineAbsent: the person names none that could have it, or its conda lacks that plugin.
    """
    if solver == BASE:
        return sys.executable
    python = os.environ.get(CONDA_PYTHON)
    if not python:
        raise EngineAbsent(f"no Python with conda or libmambapy: set {CONDA_PYTHON}")
    plugin = PLUGINS.get(solver, "classic")
    if plugin != "classic" and not _has_module(python, f"conda_{plugin}_solver"):
        raise EngineAbsent(f"this conda has no solver plugin {plugin}")
    return python


def _has_module(python: str, name: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, check=False).returncode == 0


def ask(solver: str, questions: Iterable[Question], folder: Path) -> Answers:
    """Return the answers to a batch, from ``folder`` if another process of this run has asked already.

    Raises:
        EngineAbsent: the engine cannot run here.
        WorkerDied: it crashed or hung.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{solver}.json"
    with FileLock(f"{kept}.lock", timeout=SECONDS):
        if not kept.exists():
            kept.write_bytes(_run(solver, encode(list(questions)), folder))
    return msgspec.json.decode(kept.read_bytes(), type=Answers)


def _run(solver: str, content: bytes, folder: Path) -> bytes:
    engine = solver.partition("+")[0]
    try:
        done = subprocess.run(
            [python_of(solver), "-m", "tests.conformance.worker", engine],
            input=content,
            cwd=ROOT,
            env=environment(folder / solver, PLUGINS.get(solver, "")),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise WorkerDied(f"{solver} did not answer within {SECONDS} s") from error
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode == CANNOT_RUN and solver == OPTIONAL:
        raise EngineAbsent(said)
    if done.returncode != 0:
        raise WorkerDied(f"{solver} ended with status {done.returncode}: {said[-3000:]}")
    return done.stdout


def environment(home: Path, plugin: str = "") -> dict[str, str]:
    """Return variables that keep an engine away from the person's own settings, caches and environments."""
    home.mkdir(parents=True, exist_ok=True)
    condarc = home / "condarc"
    condarc.write_text("{}\n", encoding="utf-8")
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "CONDARC": str(condarc),
        "CONDA_PKGS_DIRS": str(home / "pkgs"),
        "CONDA_ENVS_DIRS": str(home / "envs"),
        **({"CONDA_SOLVER": plugin} if plugin else {}),
    }
