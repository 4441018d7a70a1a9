"""The program as a person runs it: a process of its own, a home of its own, the offline channel for conda-forge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

ROOT = Path(__file__).parent.parent
SECONDS = 180


@dataclass(frozen=True)
class Ended:
    """How one run of the program ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """Both streams."""
        return self.stdout + self.stderr

    def json(self) -> Any:
        """Return the payload; there must be exactly one document on stdout."""
        return json.loads(self.stdout)

    def result(self) -> Any:
        """Return the payload's result of a run that went well."""
        assert self.code == 0, self.text
        return self.json()["result"]


@dataclass
class Program:
    """Runs ``llmenv`` in ``cwd`` with an environment that holds nothing of the machine's but PATH."""

    cwd: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def argv(self) -> list[str]:
        """The program itself."""
        return [sys.executable, "-m", "conda_llmenv"]

    def __call__(self, *arguments: str | Path, **variables: str) -> Ended:
        """Run to the end and return what was printed."""
        done = subprocess.run(
            [*self.argv, *map(str, arguments)],
            cwd=self.cwd,
            env={**self.environ, **variables},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str | Path, **variables: str) -> subprocess.Popen[str]:
        """Start in a process group of its own and return at once."""
        return subprocess.Popen(
            [*self.argv, *map(str, arguments)],
            cwd=self.cwd,
            env={**self.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def write(self, name: str, text: str) -> Path:
        """Write a file in the working folder."""
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture(scope="session")
def shared_caches(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder for caches that all tests of a worker share, as all environments of a person do."""
    folder = tmp_path_factory.getbasetemp() / "caches"
    with FileLock(f"{folder}.lock", timeout=60):
        folder.mkdir(exist_ok=True)
    return folder


@dataclass
class InsideConda(Program):
    """The same program as conda's subcommand."""

    @property
    def argv(self) -> list[str]:
        """``conda llmenv``, with the Python of a base environment."""
        return [os.environ["CONDA_PYTHON"], "-m", "conda", "llmenv"]


@pytest.fixture
def llmenv(tmp_path: Path, offline_channel: Path, shared_caches: Path, pytestconfig: pytest.Config) -> Program:
    """The program on a machine that reaches only the offline channel, and no package index at all.

    With ``--inside-conda`` it is conda's subcommand, and what a test expects of it is the same.
    """
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    inside = pytestconfig.getoption("--inside-conda")
    program = InsideConda if inside else Program
    extra = {"CONDA_NUMBER_CHANNEL_NOTICES": "0"} if inside else {"PYTHONWARNINGS": "error::ResourceWarning"}
    return program(
        tmp_path / "work",
        {
            **extra,
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "CONDA_CHANNEL_ALIAS": offline_channel.as_uri(),
            "CONDA_PKGS_DIRS": str(shared_caches / "pkgs"),
            "UV_CACHE_DIR": str(shared_caches / "uv"),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
        },
    )


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Where a test's environment goes."""
    return tmp_path / "envs" / "env"
