"""conda makes the environment of an exact lock of ours; so does conda-lock, with conda as its installer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conda_llmenv.locks import conda_lock, explicit
from conda_llmenv.model import Lock
from conda_llmenv.prefix.locked import read_lock, read_records
from tests.conda.conftest import CONDA_PYTHON, Conda
from tests.http_channel import ChannelServer
from tests.program import Program

CONDA_LOCK = os.environ.get("CONDA_LOCK") or shutil.which("conda-lock")


@pytest.fixture
def lock(llmenv: Program, prefix: Path) -> Lock:
    """The lock of an environment that we have made."""
    llmenv.write("layer.yml", "channels: [conda-forge]\ndependencies: [python, six]\n")
    ended = llmenv("create", "-p", prefix, "-f", "layer.yml", "-y")
    assert ended.code == 0, ended.text
    return read_lock(prefix)


def urls(prefix: Path) -> list[str]:
    """Return the address of every package of an environment."""
    return [record.url for record in read_records(prefix)]


def test_conda_makes_the_environment_of_a_list(conda: Conda, lock: Lock, tmp_path: Path) -> None:
    """Row 34: ``conda create --file explicit.txt`` installs exactly these files, offline."""
    conda.write("explicit.txt", explicit.write(lock))
    ended = conda("create", "-y", "-p", tmp_path / "theirs", "--offline", "--file", "explicit.txt")
    assert ended.code == 0, ended.text
    assert urls(tmp_path / "theirs") == [record.url for record in lock.platforms[0].records]


def test_conda_checks_the_hashes_of_a_list(
    conda: Conda, lock: Lock, http_channel: ChannelServer, tmp_path: Path
) -> None:
    """Fault 40: conda refuses a download whose hash is not the list's (files of a folder it does not check)."""
    alias = conda.environ["CONDA_CHANNEL_ALIAS"]
    text = explicit.write(lock).replace(f"{alias}/conda-forge", http_channel.url())
    conda.write("explicit.txt", re.sub(r"(/six-\S+#sha256:)[0-9a-f]{64}", rf"\g<1>{'0' * 64}", text))
    empty = {"CONDA_PKGS_DIRS": str(tmp_path / "pkgs")}
    ended = conda("create", "-y", "-p", tmp_path / "theirs", "--file", "explicit.txt", **empty)
    assert ended.code != 0
    assert "ChecksumMismatch" in ended.text
    assert not list((tmp_path / "theirs").glob("bin/*"))


def test_we_read_the_list_of_conda(conda: Conda, lock: Lock, prefix: Path) -> None:
    """``conda list --explicit --sha256`` names the same packages that our own reading of the prefix finds."""
    for option, kind in (("--sha256", "sha256"), ("--md5", "md5")):
        ended = conda("list", "-p", prefix, "--explicit", option)
        assert ended.code == 0, ended.text
        (theirs,) = explicit.read(ended.stdout, "list").platforms
        ours = lock.platforms[0].records
        assert [(one.name, one.url) for one in theirs.records] == [(one.name, one.url) for one in ours]
        assert {getattr(one, kind) for one in theirs.records} <= {getattr(one, kind) for one in ours} | {None}


@pytest.mark.skipif(not CONDA_LOCK, reason="no conda-lock on the PATH, and CONDA_LOCK does not name one")
def test_conda_lock_makes_the_environment(conda: Conda, lock: Lock, tmp_path: Path) -> None:
    """``conda-lock install`` makes the same environment from our lock, with conda as its installer."""
    conda.write("conda-lock.yml", conda_lock.write(lock))
    program = conda.write("bin/conda", f'#!/bin/sh\nexec {CONDA_PYTHON} -m conda "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        [str(CONDA_LOCK), "install", "--conda", program, "--no-mamba", "-p", tmp_path / "theirs", "conda-lock.yml"],
        cwd=conda.cwd,
        env=conda.environ,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert urls(tmp_path / "theirs") == [record.url for record in lock.platforms[0].records]
