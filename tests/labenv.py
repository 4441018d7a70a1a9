"""A real environment with JupyterLab, made once for all workers of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from tests.torchenv import OUTER, ROOT

FILE = """\
channels: [conda-forge]
dependencies:
  - python
  - activate-demo
variables:
  FROM_STATE: "a b"
"""


@pytest.fixture(scope="session")
def lab_env(tmp_path_factory: pytest.TempPathFactory, worker_id: str, offline_channel: Path) -> Path:
    """Return a prefix with JupyterLab, an activation script and a variable; read-only by agreement."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "lab"
    with FileLock(f"{folder}.lock", timeout=900):
        outcome = folder / "outcome.txt"
        if not outcome.is_file():
            folder.mkdir(exist_ok=True)
            _create(folder, offline_channel)
            outcome.write_text(_install(folder), encoding="utf-8")
        reason = outcome.read_text(encoding="utf-8")
    if reason:
        pytest.skip(f"no environment with JupyterLab could be made: {reason}")
    return folder / "env"


def _create(folder: Path, channels: Path) -> None:
    (folder / "lab.yml").write_text(FILE, encoding="utf-8")
    (folder / "home").mkdir()
    what = ["--override-channels", "-c", "conda-forge", "-f", str(folder / "lab.yml"), "-p", str(folder / "env")]
    environ = {
        "PATH": OUTER["PATH"],
        "HOME": str(folder / "home"),
        "PYTHONPATH": str(ROOT),
        "CONDA_CHANNEL_ALIAS": channels.as_uri(),
        "CONDA_PKGS_DIRS": str(folder / "pkgs"),
    }
    argv = [sys.executable, "-m", "conda_llmenv", "create", *what, "--no-verify", "--yes", "--quiet"]
    subprocess.run(argv, env=environ, cwd=folder, check=True, timeout=300)


def _install(folder: Path) -> str:
    """Install JupyterLab from the index that the person or the machine has; return why it cannot be had."""
    python = str(folder / "env" / "bin" / "python")
    argv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, "jupyterlab>=4"]
    done = subprocess.run(argv, env=OUTER, capture_output=True, text=True, timeout=600, check=False)
    return " ".join(done.stderr.split())[-500:] if done.returncode else ""
