"""A real conda on a machine that reaches only the offline channel."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.program import ROOT, Program

CONDA_PYTHON = os.environ.get("CONDA_PYTHON", "")
SKIPPED = pytest.mark.skip(reason="no conda: make test-conda CONDA_PYTHON=/path/to/base/bin/python runs these")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in this folder, and skip it, visibly, where there is no conda."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.conda)
            if not CONDA_PYTHON:
                item.add_marker(SKIPPED)


@dataclass
class Conda(Program):
    """Runs ``conda``, as a module: a conda that pip installed refuses to run through its script."""

    @property
    def argv(self) -> list[str]:
        """The base environment's Python and conda."""
        return [CONDA_PYTHON, "-m", "conda"]


@pytest.fixture(scope="session")
def conda_solver() -> str:
    """Return a solver plugin that this conda has."""
    for module, name in (("conda_libmamba_solver", "libmamba"), ("conda_rattler_solver", "rattler")):
        if has_module(module):
            return name
    return "classic"


@pytest.fixture(scope="session")
def conda_version() -> tuple[int, ...]:
    """Return the version of this conda as numbers."""
    shown = subprocess.run([CONDA_PYTHON, "-m", "conda", "--version"], capture_output=True, text=True, check=True)
    return tuple(int(part) for part in shown.stdout.split()[-1].split(".")[:2])


@pytest.fixture
def conda(llmenv: Program, conda_solver: str, tmp_path: Path) -> Conda:
    """The conda of the machine that ``llmenv`` is on: same home, channel and caches, its own folder of environments."""
    environ = {
        **llmenv.environ,
        "CONDA_SOLVER": conda_solver,
        "CONDA_ENVS_DIRS": str(tmp_path / "envs"),
        "CONDA_NOTIFY_OUTDATED_CONDA": "false",
        "CONDA_NUMBER_CHANNEL_NOTICES": "0",
        "CONDA_CHANNELS": "conda-forge",
    }
    environ.pop("PYTHONPATH")  # the base environment has us installed
    environ.pop("PYTHONWARNINGS")  # conda's own warnings are not ours to answer for
    return Conda(llmenv.cwd, environ)


@pytest.fixture
def base_python(conda: Conda) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run code in the base environment's Python, isolated as ``conda`` is; ``PYTHONPATH`` is the checkout."""

    def run(code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [CONDA_PYTHON, "-c", code, *arguments],
            cwd=conda.cwd,
            env={**conda.environ, "PYTHONPATH": str(ROOT), **variables},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return run


def has_module(name: str) -> bool:
    """Return whether the base environment can import a module."""
    if not CONDA_PYTHON:
        return False
    done = subprocess.run([CONDA_PYTHON, "-c", f"import {name}"], capture_output=True, check=False)
    return done.returncode == 0
