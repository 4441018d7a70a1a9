"""Disks that are full, out of inodes or read-only: a clear sentence, and what was there before is there again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.prefix.test_crashes import environment


def _reason() -> str | None:
    if os.geteuid() != 0:
        return "mounting needs root"
    probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "mounting is not allowed here"


pytestmark = pytest.mark.skipif(_reason() is not None, reason=str(_reason()))

BEGINNING = """
import json, os, subprocess, sys
from pathlib import Path
from conda_llmenv.errors import LlmenvError
from conda_llmenv.prefix.durable import disk_errors
from conda_llmenv.prefix.removal import remove
from conda_llmenv.prefix.transaction import PrefixTransaction
from tests.prefix.scenario import install, judge, litter, make
base = Path(sys.argv[1])
prefix = base / "env"
def attempt(action):
    try:
        action()
        failure = {"code": "none", "message": ""}
    except LlmenvError as error:
        failure = {"code": error.code, "message": error.message, "details": list(error.details), "hint": error.hint}
    print(json.dumps({**failure, "found": judge(prefix), "litter": litter(prefix)}))
def fill():
    filler = os.open(base / "home" / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(filler, b"x" * 4096):
            pass
    except OSError:
        os.close(filler)
(base / "home").mkdir()
"""


def run(script: str, tmp_path: Path, options: str) -> dict[str, object]:
    """Run a script in a mount namespace of its own, on a small file system."""
    base = tmp_path / "disk"
    base.mkdir()
    command = f'mount -t tmpfs -o {options} none "$1" && exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command, "sh", str(base), sys.executable, BEGINNING + script],
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_while_linking(*, old: bool, tmp_path: Path) -> None:
    """The message has the bytes; rolling back needs no room (rows 5 and 7)."""
    result = run(
        f"""
if {old}: make(prefix, "old")
def action():
    with PrefixTransaction(prefix, replace=True) as transaction:
        with disk_errors("link into", prefix):
            fill()
            (prefix / "big").write_bytes(b"x" * 2**20)
attempt(action)
""",
        tmp_path,
        "size=512k",
    )
    assert (result["code"], result["found"], result["litter"]) == ("no-space", "old" if old else "absent", [])
    assert "0 MiB of 0 MiB free" in str(result["details"])
    assert result["hint"]


@pytest.mark.parametrize("old", [True, False])
def test_a_disk_that_is_full_from_the_start(*, old: bool, tmp_path: Path) -> None:
    """The journal cannot be written: refused before anything is changed (row 6)."""
    result = run(
        f"""
if {old}: make(prefix, "old")
fill()
attempt(lambda: make(prefix, "new", replace=True))
""",
        tmp_path,
        "size=512k",
    )
    assert (result["code"], result["found"], result["litter"]) == ("no-space", "old" if old else "absent", [])


def test_no_inodes_left(tmp_path: Path) -> None:
    """They are named as inodes, not as bytes (row 8)."""
    result = run(
        """
make(prefix, "old")
for number in range(1000):
    try:
        (base / "home" / str(number)).touch()
    except OSError:
        break
attempt(lambda: make(prefix, "new", replace=True))
""",
        tmp_path,
        "size=4m,nr_inodes=64",
    )
    assert (result["code"], result["found"], result["litter"]) == ("no-space", "old", [])
    assert "no inodes left" in str(result["details"])


@pytest.mark.parametrize("action", ["make(prefix, 'new', replace=True)", "remove(prefix)"])
def test_a_read_only_file_system(action: str, tmp_path: Path) -> None:
    """Said in one sentence; the environment is whole (row 10)."""
    result = run(
        f"""
make(prefix, "old")
subprocess.run(["mount", "-o", "remount,ro", base], check=True)
attempt(lambda: {action})
""",
        tmp_path,
        "size=4m",
    )
    assert (result["code"], result["found"], result["litter"]) == ("prefix", "old", [])
    assert "Read-only file system" in str(result["message"])


def test_a_mount_point_is_used_but_never_replaced_or_removed(tmp_path: Path) -> None:
    """A volume mounted at the prefix itself: create works, replace and remove say why not (row 33)."""
    result = run(
        """
prefix.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "none", prefix], check=True)
make(prefix, "old")
for action in (lambda: make(prefix, "new", replace=True), lambda: remove(prefix)):
    try:
        action()
        print("no refusal")
    except LlmenvError as error:
        assert "is a mount point" in error.message, error.message
attempt(lambda: None)
""",
        tmp_path,
        "size=4m",
    )
    assert (result["code"], result["found"], result["litter"]) == ("none", "old", [])
