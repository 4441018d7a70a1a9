"""A real environment with JupyterLab, made once for all workers of a run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

from tests.sharedenv import SharedEnv

FILE = """\
channels: [conda-forge]
dependencies:
  - python
  - activate-demo
  - pip
  - pip:
      - jupyterlab>=4
variables:
  FROM_STATE: "a b"
"""

LAB_ENV = SharedEnv("lab", FILE, ("jupyterlab>=4",), options=("--no-kernel",))


@pytest.fixture(scope="session")
def lab_env(tmp_path_factory: pytest.TempPathFactory, worker_id: str, offline_channel: Path) -> Path:
    """Return a prefix with JupyterLab, an activation script and a variable; read-only by agreement."""
    return LAB_ENV.made(tmp_path_factory, worker_id, offline_channel)


@pytest.fixture(scope="session")
def server_env(lab_env: Path) -> Path:
    """Return a copy of the environment in which JupyterLab is not found: the bare server starts sooner."""
    prefix = lab_env.parent / "server"
    with FileLock(f"{prefix}.lock", timeout=60):
        if not prefix.is_dir():
            copy = prefix.with_name("server.new")
            subprocess.run(["cp", "-al", str(lab_env), str(copy)], check=True)
            shutil.rmtree(next(copy.glob("lib/python3.*/site-packages/jupyterlab-*.dist-info")))
            shutil.rmtree(copy / "etc" / "jupyter")
            for grammar in copy.glob("lib/python3.*/site-packages/rfc3987_syntax"):
                shutil.rmtree(grammar)  # optional, and more than a second of compiling at each start
            copy.rename(prefix)
    return prefix
