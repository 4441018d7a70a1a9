"""Real environments with packages from pip, each made once for all workers of a run, or never where pip has none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

OUTER = dict(os.environ)
"""The environment before tests get a home of their own: pip's configuration is the person's or the machine's."""

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class SharedEnv:
    """What an environment is made of.

    Attributes:
        name: of its folder.
        file: an environment file.
        requirements: what pip has to offer as wheels; where it does not, tests are skipped with its reason.
        options: more options for ``create``.
        imports: what most tests load: byte-compiled, it starts in a third of the time.
    """

    name: str
    file: str
    requirements: tuple[str, ...]
    options: tuple[str, ...] = ()
    imports: str = ""

    def made(self, factory: pytest.TempPathFactory, worker_id: str, channels: Path) -> Path:
        """Return its prefix, read-only by agreement; the first worker that asks makes it, others wait."""
        base = factory.getbasetemp()
        folder = (base if worker_id == "master" else base.parent) / self.name
        with FileLock(f"{folder}.lock", timeout=900):
            outcome = folder / "outcome.txt"
            if not outcome.is_file():
                folder.mkdir(exist_ok=True)
                reason = why_not(folder, *self.requirements) or self._create(folder, channels)
                outcome.write_text(reason, encoding="utf-8")
            reason = outcome.read_text(encoding="utf-8")
        if reason.startswith("failed: "):
            pytest.fail(reason, pytrace=False)
        if reason:
            pytest.skip(reason)
        return folder / "env"

    def _create(self, folder: Path, channels: Path) -> str:
        """Let the program create it, and keep its answer; return ``failed: …`` where it could not."""
        file, prefix = folder / "environment.yml", folder / "env"
        file.write_text(self.file, encoding="utf-8")
        where = ["--override-channels", "-c", "conda-forge", "--tier", "cpu", "-f", str(file), "-p", str(prefix)]
        options = ["--no-verify", *self.options, "--yes", "--quiet", "--json"]
        argv = [sys.executable, "-m", "conda_llmenv", "create", *where, *options]
        done = run(argv, environ_of(folder, channels), folder)
        (folder / "created.json").write_text(done.stdout, encoding="utf-8")
        if done.returncode:
            return f"failed: no environment with {' and '.join(self.requirements)}: {done.stdout}{done.stderr}"
        if self.imports:
            plain = {name: value for name, value in OUTER.items() if not name.startswith("PYTHON")}
            run([str(prefix / "bin" / "python"), "-I", "-c", f"import {self.imports}"], plain, folder)
        return ""


def why_not(folder: Path, *requirements: str) -> str:
    """Return why pip cannot install wheels of these here, or an empty string."""
    asked = ["--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--only-binary", ":all:"]
    done = run([sys.executable, "-m", "pip", "install", *asked, *requirements], OUTER, folder)
    if not done.returncode:
        return ""
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return f"pip can offer no {' and no '.join(requirements)} here: {' '.join(last)}"


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
    """Run a program to its end, whatever that is."""
    return subprocess.run(argv, env=dict(environ), cwd=folder, capture_output=True, text=True, timeout=600, check=False)
