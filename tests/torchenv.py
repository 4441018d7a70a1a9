"""A real environment with torch's CPU build, made once for all workers of a run, and copies of it to break.

Only a CPU build is ever fetched: its local version is asked for, which no build for a card has.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from tests.sharedenv import SharedEnv

TORCH = "2.13.0+cpu"

FILE = f"""\
channels: [conda-forge]
dependencies:
  - python
  - numpy
  - pip
  - pip:
      - torch=={TORCH}
"""

TORCH_ENV = SharedEnv(
    name="torch",
    file=FILE,
    requirements=(f"torch=={TORCH}",),
    imports="torch, torch.distributed.run, torch.distributed.fsdp, torch.nn.parallel, torch.utils.data",
)


class BreakEnv(Protocol):
    """Makes a copy of the environment with torch to plant faults in."""

    def __call__(self, files: Mapping[str, str] | None = None) -> Path:
        """Return a copy with these files written into its ``site-packages``, over what was there."""


@pytest.fixture(scope="session")
def torch_env(tmp_path_factory: pytest.TempPathFactory, worker_id: str, offline_channel: Path) -> Path:
    """Return a prefix with Python, numpy, pip and torch's CPU build; read-only by agreement (see ``broken_env``)."""
    return TORCH_ENV.made(tmp_path_factory, worker_id, offline_channel)


@pytest.fixture
def broken_env(torch_env: Path, tmp_path: Path) -> BreakEnv:
    """Return what makes a copy of the environment: hard links, so that it costs no space and a fifth of a second."""

    def break_env(files: Mapping[str, str] | None = None) -> Path:
        number = len(list(tmp_path.glob("broken-*")))
        prefix = tmp_path / f"broken-{number}"
        subprocess.run(["cp", "-al", str(torch_env), str(prefix)], check=True)
        for name, text in (files or {}).items():
            write_anew(site_packages(prefix) / name, text)
        return prefix

    return break_env


def site_packages(prefix: Path) -> Path:
    """Return where an environment's Python packages are."""
    return next(prefix.glob("lib/python3.*/site-packages"))


def write_anew(path: Path, text: str) -> None:
    """Write a file of a copied environment without changing the one it is a hard link to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
