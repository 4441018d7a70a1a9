"""A real checkpoint on real file systems: whole, full, read-only, and left behind."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from conda_llmenv.model import Status
from tests.probes.looking import found, look, wrapped
from tests.torchenv import BreakEnv

PLANTED = Path(__file__).with_name("planted_compute.py")

MIB = 1024**2

pytestmark = pytest.mark.torch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder a person trains in, whose name a shell would have to quote."""
    new = tmp_path / "my runs"
    new.mkdir()
    return new


def test_a_checkpoint_is_read_back(torch_env: Path, folder: Path) -> None:
    """The speeds are told and nothing is left."""
    finding = found(torch_env, "checkpoint", {"folder": str(folder), "bytes": 8 * MIB})
    assert finding.status is Status.PASS, finding
    assert f"a checkpoint of 8 MiB in {folder}" in finding.summary
    assert all(finding.figures[f"checkpoint_{way}_mbs"] > 0 for way in ("write", "read"))
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "refused", ["size=4m ENOSPC the disk is full", "ro EROFS the file system is mounted read-only"]
)
def test_what_a_disk_refuses_is_named(torch_env: Path, folder: Path, tmp_path: Path, refused: str) -> None:
    """A full disk and a read-only one, by the reason that the kernel gives."""
    options, errno, words = refused.split(" ", 2)
    mount = f"mount -t tmpfs -o {options} tmpfs '{folder}'"
    after = f"ls -A '{folder}' > '{tmp_path}/left'"
    prefix = wrapped(tmp_path, torch_env, f"{mount} && {{python}}; {after}", root=True)
    finding = found(prefix, "checkpoint", {"folder": str(folder), "bytes": 16 * MIB})
    assert finding.status is Status.FAIL
    assert words in finding.summary
    assert finding.measured.startswith(errno)
    assert "my runs'" in finding.fix
    assert not (tmp_path / "left").read_text(encoding="utf-8")


def test_a_folder_that_is_not_there_is_named(torch_env: Path, folder: Path) -> None:
    """The next step makes it."""
    finding = found(torch_env, "checkpoint", {"folder": str(folder / "gone")})
    assert finding.status is Status.FAIL
    assert finding.fix == f"mkdir -p '{folder}/gone'"


def test_other_values_are_seen(broken_env: BreakEnv, folder: Path) -> None:
    """Bytes that are as written do not make values that are."""
    prefix = broken_env({"sitecustomize.py": PLANTED.read_text(encoding="utf-8")})
    asked = {"folder": str(folder), "bytes": MIB}
    finding = found(prefix, "checkpoint", asked, environ={"PLANTED": "other_values"})
    assert finding.status is Status.FAIL
    assert "read back with other values than were written" in finding.summary


def test_nothing_is_left_when_it_is_ended(broken_env: BreakEnv, folder: Path) -> None:
    """A disk that never answers: the probe is ended and takes its folder along."""
    prefix = broken_env({"sitecustomize.py": PLANTED.read_text(encoding="utf-8")})
    asked = {"folder": str(folder), "bytes": MIB}
    findings, end = look(prefix, ("checkpoint",), asked, environ={"PLANTED": "slow_save"}, timeout=6)
    assert end.timed_out
    assert end.last_steps == {0: "write a checkpoint"}
    assert findings["checkpoint"].status is Status.FAIL
    assert not list(folder.iterdir())


def test_what_a_killed_probe_left_is_cleared(torch_env: Path, folder: Path) -> None:
    """Only of processes that are gone from this machine: another machine's may be at work."""
    host = socket.gethostname().replace("-", "_")
    gone, alive = (folder / f".llmenv-checkpoint-{host}-{pid}-abc" for pid in (2**22 + 1, os.getpid()))
    elsewhere = folder / f".llmenv-checkpoint-another.node-{2**22 + 1}-abc"
    for one in (gone, alive, elsewhere):
        (one / "inside").mkdir(parents=True)
    assert found(torch_env, "checkpoint", {"folder": str(folder), "bytes": MIB}).status is Status.PASS
    assert sorted(folder.iterdir()) == sorted([alive, elsewhere])
