"""Disks that are full or read-only during a whole run: one sentence, nothing left, and the old environment intact."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from tests.index import artifacts
from tests.index.server import write_flat
from tests.program import Ended, Program


def _reason() -> str | None:
    if os.geteuid() != 0:
        return "mounting needs root"
    probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "mounting is not allowed here"


pytestmark = pytest.mark.skipif(_reason() is not None, reason=str(_reason()))


def on_small_disk(llmenv: Program, folder: Path, options: str, *arguments: str | Path, first: str = "true") -> Ended:
    """Run in a mount namespace where ``folder`` is a disk of its own; show what is left there on the last line."""
    folder.mkdir(parents=True, exist_ok=True)
    script = (
        'folder=$1 options=$2 first=$3; shift 3; mount -t tmpfs none "$folder" && sh -c "$first" && '
        'mount -o "remount,$options" "$folder" && "$@"; code=$?; echo "left: $(ls -A "$folder")" >&2; exit $code'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", folder, options, first, *llmenv.argv, *arguments],
        cwd=llmenv.cwd,
        env=llmenv.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def told(ended: Ended, *words: str) -> None:
    """A failure in one sentence with a next step."""
    assert ended.code == 1, ended.text
    for word in words:
        assert word in ended.stderr
    assert "hint: " in ended.stderr
    assert "Traceback" not in ended.text


@pytest.fixture
def fresh(llmenv: Program, tmp_path: Path) -> Program:
    """The program with caches and a temporary folder of this test alone."""
    (tmp_path / "tmp").mkdir()
    llmenv.environ |= {
        "CONDA_PKGS_DIRS": str(tmp_path / "pkgs"),
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    return llmenv


def test_no_room_for_the_environment(fresh: Program, prefix: Path) -> None:
    """Fault 5 (conda NoSpaceLeftError): the prefix's disk by name, the bytes, and nothing left on it."""
    ended = on_small_disk(fresh, prefix.parent, "size=20m", "create", "-p", prefix, "numpy", "openmpi")
    told(ended, f"no space left on the disk of {prefix}", "MB are free")
    assert ended.stderr.splitlines()[-1] == "left: "


def test_no_room_for_the_new_one_leaves_the_old(fresh: Program, prefix: Path) -> None:
    """Faults 5 and 7: a replacement that does not fit: the old environment is whole, listed, and works."""
    program = " ".join(fresh.argv)
    old = f"{program} create -p {prefix} -q --no-verify six >/dev/null"
    ended = on_small_disk(fresh, prefix.parent, "size=80m", "create", "-p", prefix, "-y", "numpy", "openmpi", first=old)
    told(ended, "no space left")
    assert ended.stderr.splitlines()[-1] == f"left: {prefix.name}"


def test_no_room_for_the_package_cache(fresh: Program, prefix: Path, tmp_path: Path) -> None:
    """Fault 5: said before the first byte, with what is needed and what is free."""
    ended = on_small_disk(fresh, tmp_path / "pkgs", "size=20m", "create", "-p", prefix, "numpy", "openmpi")
    told(ended, "the package cache needs", "MB are free", str(tmp_path / "pkgs"))
    assert not prefix.parent.exists()


@pytest.mark.parametrize(("full", "size"), [("uv", "20m"), ("envs", "75m")])
def test_no_room_in_the_pip_section(fresh: Program, prefix: Path, tmp_path: Path, full: str, size: str) -> None:
    """Faults 4 and 5: uv's cache or the prefix fills up while wheels arrive: the package, the reason, nothing left."""
    digits = random.Random(1).randbytes(15_000_000).hex()
    wheel = artifacts.wheel("tinydist", "1.0", files={"tinydist/__init__.py": f"DATA = '{digits}'\n"})
    fresh.environ["PIP_FIND_LINKS"] = str(write_flat(tmp_path / "wheels", [wheel]))
    fresh.write("team.yml", "dependencies:\n- python\n- pip\n- pip:\n  - tinydist\n")
    ended = on_small_disk(fresh, tmp_path / full, f"size={size}", "create", "-p", prefix, "-f", "team.yml")
    told(ended, "team.yml:5: tinydist", "the disk is full")
    assert not prefix.exists()
    assert list((tmp_path / "tmp").glob("llmenv-*")) == []


@pytest.mark.parametrize("place", ["envs", "pkgs"])
def test_a_read_only_disk(fresh: Program, prefix: Path, tmp_path: Path, place: str) -> None:
    """Fault 10 (mamba no_writable): the folder and the word, no traceback, nothing made."""
    ended = on_small_disk(fresh, tmp_path / place, "ro", "create", "-p", prefix, "six")
    told(ended, str(tmp_path / place), "rea" if place == "envs" else "written")
    assert not prefix.exists()


def test_a_read_only_temporary_folder(fresh: Program, prefix: Path, tmp_path: Path) -> None:
    """Fault 10: without a place for temporary files a pip section is refused or done without, never half done."""
    fresh.environ["PIP_FIND_LINKS"] = str(write_flat(tmp_path / "wheels", [artifacts.wheel("tinydist", "1.0")]))
    fresh.write("team.yml", "dependencies:\n- python\n- pip\n- pip:\n  - tinydist\n")
    ended = on_small_disk(fresh, tmp_path / "tmp", "ro", "create", "-p", prefix, "-f", "team.yml")
    assert "Traceback" not in ended.text
    if ended.code:
        told(ended, "error: ")
        assert not prefix.exists()
    else:
        assert len(list(prefix.glob("lib/python3*/site-packages/tinydist"))) == 1


def test_a_replacement_on_a_read_only_disk_leaves_the_old(fresh: Program, prefix: Path) -> None:
    """Fault 10: the disk of the environments became read-only since; the old environment is as it was."""
    old = f"{' '.join(fresh.argv)} create -p {prefix} -q --no-verify six >/dev/null"
    ended = on_small_disk(fresh, prefix.parent, "ro", "create", "-p", prefix, "-y", "click", first=old)
    told(ended, "ead-only file system")
    assert ended.stderr.splitlines()[-1] == f"left: {prefix.name}"
