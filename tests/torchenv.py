"""A real environment with torch's CPU build, made once for all workers of a run, and copies of it to break.

Only a CPU build is ever fetched: its local version is asked for, which no build for a card has.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest
from filelock import FileLock

TORCH = "2.13.0+cpu"

OUTER = dict(os.environ)
"""The environment before tests get a home of their own: pip's configuration is the person's or the machine's."""

ROOT = Path(__file__).parent.parent

FILE = f"""\
channels: [conda-forge]
dependencies:
  - python
  - numpy
  - pip
  - pip:
      - torch=={TORCH}
"""

IMPORTED = "import torch, torch.distributed.run, torch.distributed.fsdp, torch.nn.parallel, torch.utils.data"
"""What most tests load: a byte-compiled torch starts in a third of the time."""


class BreakEnv(Protocol):
    """Makes a copy of the environment with torch to plant faults in."""

    def __call__(self, files: Mapping[str, str] | None = None) -> Path:
        """Return a copy with these files written into its ``site-packages``, over what was there."""


@pytest.fixture(scope="session")
def torch_env(tmp_path_factory: pytest.TempPathFactory, worker_id: str, offline_channel: Path) -> Path:
    """Return a prefix with Python, numpy, pip and torch's CPU build; read-only by agreement (see ``broken_env``)."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    folder = shared / "torch"
    with FileLock(f"{folder}.lock", timeout=900):
        outcome = folder / "outcome.txt"
        if not outcome.is_file():
            folder.mkdir(exist_ok=True)
            reason = _why_not(folder) or _create(folder, offline_channel)
            outcome.write_text(reason, encoding="utf-8")
        reason = outcome.read_text(encoding="utf-8")
    if reason.startswith("failed: "):
        pytest.fail(reason, pytrace=False)
    if reason:
        pytest.skip(reason)
    return folder / "env"


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


def _why_not(folder: Path) -> str:
    """Return why there can be no environment with torch here, or an empty string."""
    asked = ["--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--only-binary", ":all:"]
    done = run([sys.executable, "-m", "pip", "install", *asked, f"torch=={TORCH}"], OUTER, folder)
    if not done.returncode:
        return ""
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return f"pip's configuration offers no torch {TORCH} for this Python: {' '.join(last)}"


def _create(folder: Path, channels: Path) -> str:
    """Let the program create the environment; return ``failed: …`` where it could not."""
    file = folder / "torch.yml"
    file.write_text(FILE, encoding="utf-8")
    where = ["--override-channels", "-c", "conda-forge", "--tier", "cpu", "-f", str(file), "-p", str(folder / "env")]
    argv = [sys.executable, "-m", "conda_llmenv", "create", *where, "--no-verify", "--yes", "--quiet"]
    done = run(argv, environ_of(folder, channels), folder)
    if done.returncode:
        return f"failed: no environment with torch: {done.stdout}{done.stderr}"
    compiling = {name: value for name, value in OUTER.items() if not name.startswith("PYTHON")}
    run([str(folder / "env" / "bin" / "python"), "-I", "-c", IMPORTED], compiling, folder)
    return ""


def environ_of(folder: Path, channels: Path) -> dict[str, str]:
    """Return variables with the person's pip configuration and download cache, and a home and channels of ours."""
    own = Path(OUTER.get("HOME") or "/nonexistent")
    home = folder / "home"
    for name in (".config/pip", ".pip", ".netrc"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(own / name)
    cache = OUTER.get("UV_CACHE_DIR") or Path(OUTER.get("XDG_CACHE_HOME") or own / ".cache") / "uv"
    kept = {name: value for name, value in OUTER.items() if not name.startswith(("CONDA", "MAMBA", "LLMENV"))}
    return {
        **kept,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "CONDA_CHANNEL_ALIAS": channels.as_uri(),
        "CONDA_PKGS_DIRS": str(folder / "pkgs"),
        "UV_CACHE_DIR": str(cache),
    }


def run(argv: list[str], environ: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, env=dict(environ), cwd=folder, capture_output=True, text=True, timeout=600, check=False)
