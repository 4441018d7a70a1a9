"""Disks that are full, out of inodes or read-only: said as what it is, with the folder, never a traceback."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conda_llmenv.engines.disk import disk_failure
from conda_llmenv.errors import InstallFailed, NoSpace
from conda_llmenv.model import Solution
from tests.engines.support import channel, install, solve


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Path]:
    """Mount a disk of its own, where this machine lets us."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def python(offline_channel: Path) -> Solution:
    """A solution of some size and many files."""
    return solve("python", "gate-c", channels=(channel(offline_channel),))


@pytest.mark.parametrize("full", ["cache", "prefix"])
def test_a_full_disk_is_named(full: str, python: Solution, tmp_path: Path) -> None:
    """Row 5 (conda NoSpaceLeftError): which folder's disk, how much is free, what to do."""
    with small_disk(tmp_path / "disk", "size=30m") as disk:
        folders = {"cache": tmp_path / "pkgs", "prefix": tmp_path / "env", full: disk / full}
        with pytest.raises(NoSpace, match="no space left on the disk of") as caught:
            install(python, folders["prefix"], folders["cache"])
    assert str(disk / full) in caught.value.message
    assert "MB are free" in caught.value.details[0]
    assert "CONDA_PKGS_DIRS" in caught.value.hint


@pytest.mark.parametrize("full", ["cache", "prefix"])
def test_inodes_are_told_apart_from_bytes(full: str, python: Solution, tmp_path: Path) -> None:
    """Row 8 (NHC check_fs_ifree): `df` shows a half-empty disk, so the word has to be inodes."""
    with small_disk(tmp_path / "disk", "nr_inodes=60") as disk:
        folders = {"cache": tmp_path / "pkgs", "prefix": tmp_path / "env", full: disk / full}
        with pytest.raises(NoSpace, match="inodes are used up") as caught:
            install(python, folders["prefix"], folders["cache"])
    assert "df -i" in caught.value.hint


@pytest.mark.parametrize("where", ["cache", "prefix"])
def test_a_read_only_disk_is_named(where: str, python: Solution, tmp_path: Path) -> None:
    """Row 10 (mamba no_writable): EROFS in a person's words."""
    with small_disk(tmp_path / "disk", "ro") as disk:
        folders = {"cache": tmp_path / "pkgs", "prefix": tmp_path / "env", where: disk / where}
        with pytest.raises(InstallFailed, match="mounted read-only") as caught:
            install(python, folders["prefix"], folders["cache"])
    assert str(disk / where) in caught.value.message


def test_a_disk_that_turns_read_only_midway_is_named(python: Solution, tmp_path: Path) -> None:
    """Row 10: the file system is remounted while the prefix is half there."""
    with small_disk(tmp_path / "disk", "size=200m") as disk:
        install(python, disk / "env", tmp_path / "pkgs")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(InstallFailed, match="mounted read-only") as caught:
            install(Solution(python.records[:1], "rattler", 0.0), disk / "env", tmp_path / "pkgs")
    assert str(disk) in caught.value.message


def test_a_prefix_that_is_a_file_is_said_so(python: Solution, tmp_path: Path) -> None:
    """A path in use for something else is left as it is."""
    (tmp_path / "env").write_text("mine")
    with pytest.raises(InstallFailed, match="not a directory"):
        install(python, tmp_path / "env", tmp_path / "pkgs")
    assert (tmp_path / "env").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "words", "kind"),
    [
        (errno.EDQUOT, "quota", NoSpace),
        (errno.ENOSPC, "no space left", NoSpace),
        (errno.EROFS, "read-only", InstallFailed),
        (errno.EACCES, "no permission", InstallFailed),
        (errno.EIO, "input/output error", InstallFailed),
    ],
)
def test_every_refusal_of_a_disk_has_a_sentence(
    number: int, words: str, kind: type[InstallFailed], tmp_path: Path
) -> None:
    """Row 11 (EDQUOT) and the rest: the folder that exists is named, even where the path does not."""
    error = disk_failure(number, "demo-1.0-0.conda", tmp_path / "not" / "there")
    assert words in error.message
    assert str(tmp_path) in error.message
    assert type(error) is kind
