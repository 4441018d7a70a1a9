"""conda-lock itself reads what we write: run where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conda_llmenv.locks import conda_lock, explicit
from tests.locks.samples import COMMIT, FILES, FORGE, LOCK

CONDA_LOCK = os.environ.get("CONDA_LOCK") or shutil.which("conda-lock")

pytestmark = pytest.mark.skipif(
    not CONDA_LOCK, reason="no conda-lock on the PATH: `pip install conda-lock` somewhere and set CONDA_LOCK to it"
)


def render(folder: Path, kind: str) -> str:
    """Return what ``conda-lock render`` makes of the lock in a folder."""
    done = subprocess.run(
        [str(CONDA_LOCK), "render", "--kind", kind, "--platform", "linux-64", "conda-lock.yml"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (written,) = folder.glob("conda-linux-64.lock*")
    return written.read_text()


def test_it_renders_a_list(tmp_path: Path) -> None:
    """``conda-lock render``: every package, conda's and pip's, in a list that we read as the same packages."""
    (tmp_path / "conda-lock.yml").write_text(conda_lock.write(LOCK))
    text = render(tmp_path, "explicit")
    (ours,), (theirs,) = LOCK.platforms, explicit.read(text, "list").platforms
    assert [(one.url, one.md5) for one in theirs.records] == [(one.url, one.md5) for one in ours.records]
    assert f"# pip six @ {FILES}/six-1.17.0-py3-none-any.whl#sha256={'c' * 64}\n" in text
    assert f"# pip tool @ git+https://h.example/tool@{COMMIT}\n" in text


def test_it_renders_an_environment(tmp_path: Path) -> None:
    """``conda-lock render --kind env``: names, versions and builds; channels in order; pip packages with hashes."""
    (tmp_path / "conda-lock.yml").write_text(conda_lock.write(LOCK))
    lines = [line.strip() for line in render(tmp_path, "env").split("\n")]
    assert [line for line in lines if "://" in line] == [
        "- https://h.example/pytorch",
        f"- {FORGE}",
        f"- tool @ git+https://h.example/tool@{COMMIT}",
    ]
    assert "- numpy=2.2.6=py311h1_1" in lines
    assert f"- six == 1.17.0 --hash=sha256:{'c' * 64}" in lines
