"""A real environment with JupyterLab, made once for all workers of a run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from tests.torchenv import OUTER, environ_of, run

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


@pytest.fixture(scope="session")
def lab_env(tmp_path_factory: pytest.TempPathFactory, worker_id: str, offline_channel: Path) -> Path:
    """Return a prefix with JupyterLab, an activation script and a variable; read-only by agreement."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "lab"
    with FileLock(f"{folder}.lock", timeout=900):
        outcome = folder / "outcome.txt"
        if not outcome.is_file():
            folder.mkdir(exist_ok=True)
            outcome.write_text(_why_not(folder) or _create(folder, offline_channel), encoding="utf-8")
        reason = outcome.read_text(encoding="utf-8")
    if reason.startswith("failed: "):
        pytest.fail(reason, pytrace=False)
    if reason:
        pytest.skip(reason)
    return folder / "env"


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


def _why_not(folder: Path) -> str:
    """Return why there can be no such environment here, or an empty string."""
    asked = ["--dry-run", "--no-deps", "--ignore-installed", "--quiet"]
    done = run([sys.executable, "-m", "pip", "install", *asked, "jupyterlab>=4"], OUTER, folder)
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return f"pip can offer no JupyterLab here: {' '.join(last)}" if done.returncode else ""


def _create(folder: Path, channels: Path) -> str:
    file = folder / "lab.yml"
    file.write_text(FILE, encoding="utf-8")
    where = ["--override-channels", "-c", "conda-forge", "--tier", "cpu", "-f", str(file), "-p", str(folder / "env")]
    argv = [sys.executable, "-m", "conda_llmenv", "create", *where, "--no-verify", "--no-kernel", "--yes", "--quiet"]
    done = run(argv, environ_of(folder, channels), folder)
    return f"failed: no environment with JupyterLab: {done.stdout}{done.stderr}" if done.returncode else ""
