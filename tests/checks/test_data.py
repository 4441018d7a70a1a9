"""Judging how data is loaded and how a checkpoint is kept, by what torch and the kernel say."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.model import Finding, HostFacts, Status
from tests.checks.runtime_scenes import judged, scene

MIB = 1024**2

CAUGHT = """RuntimeError: Caught RuntimeError in DataLoader worker process 0.
Original Traceback (most recent call last):
  (some lines)
RuntimeError: unable to allocate shared memory(shm) for file </torch_1_2>: No space left on device (28)"""

GOOD = {"wrong": 0, "samples": 24, "wanted": 24, "took": 0.5}


def dataloader(host: HostFacts | None = None, **more: Any) -> Finding:
    """Judge loading in which all is well but what is given."""
    seen = {"workers": 2, "nofile": 1024, "pinned": False, "sharing": "file_descriptor", "fork": GOOD, "spawn": GOOD}
    return judged("dataloader", scene({"dataloader": {**seen, "held": {"wrong": 0}, **more}}, host))


def test_right_samples_pass() -> None:
    """The figure is samples a second of forked workers."""
    found = dataloader()
    assert found.status is Status.PASS
    assert found.figures == {"loader_per_s": 48.0}


@pytest.mark.parametrize(
    ("error", "means", "fix"),
    [
        (
            "RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that",
            "/dev/shm is too small",
            "--shm-size=8g",
        ),
        (
            CAUGHT,
            "/dev/shm is too small",
            "remount,size=8G",
        ),
        ("RuntimeError: Too many open files. Communication with the workers is no longer", "open files", "ulimit -n"),
        ("RuntimeError: received 0 items of ancdata", "open files", "ulimit -n 65535"),
        ("OSError: [Errno 24] Too many open files: '/dev/shm/x'", "open files", "ulimit -n 65535"),
        ("BlockingIOError: [Errno 11] Resource temporarily unavailable", "processes and threads", "ulimit -u"),
        ("RuntimeError: DataLoader worker (pid 9) is killed by signal: Killed.", "memory is used up", "grep -i oom"),
        ("RuntimeError: Cannot re-initialize CUDA in forked subprocess.", "forked", "spawn"),
        ("ZeroDivisionError: nobody has seen this", "ZeroDivisionError: nobody has seen this", ""),
    ],
)
def test_each_obstacle_is_named(error: str, means: str, fix: str) -> None:
    """What torch, Python and the kernel say leads to what to raise."""
    found = dataloader(fork={"error": error, "samples": 3})
    assert found.status is Status.FAIL
    assert found.summary.startswith("a DataLoader fails with workers by fork: ")
    assert means in found.summary
    assert fix in found.fix


@pytest.mark.parametrize(
    ("host", "nofile", "means"),
    [
        (HostFacts("linux-64", shm_bytes=4 * MIB), 1024, "/dev/shm is too small"),
        (HostFacts("linux-64", shm_bytes=8192 * MIB), 64, "open files"),
        (HostFacts("linux-64", shm_bytes=8192 * MIB), 1024, "timed out"),
        (HostFacts("linux-64"), -1, "timed out"),
    ],
)
def test_a_worker_that_waits_for_ever_is_suspected_of_what_is_short(host: HostFacts, nofile: int, means: str) -> None:
    """A tensor that cannot be handed over is lost without an error: the limits tell why."""
    error = {"error": "RuntimeError: DataLoader timed out after 30 seconds", "samples": 0}
    assert means in dataloader(host, nofile=nofile, fork=error).summary


@pytest.mark.parametrize("change", [{"fork": {**GOOD, "wrong": 1}}, {"spawn": {**GOOD, "samples": 20}}])
def test_wrong_and_missing_samples_fail(change: dict[str, Any]) -> None:
    """A loader that runs is not one that is right."""
    assert dataloader(**change).status is Status.FAIL


def checkpoint(**more: Any) -> Finding:
    """Judge a checkpoint in which all is well but what is given."""
    seen = {"folder": "/scratch/my runs", "bytes": 64 * MIB, "filesystem": "nfs4", "free": 900 * MIB, "dropped": True}
    done = {"write_mbs": 300.0, "read_mbs": 900.0, "same_bytes": True, "same_values": True, "length": 64 * MIB}
    return judged("checkpoint", scene({"checkpoint": {**seen, **done, **more}}))


def test_a_whole_checkpoint_passes() -> None:
    """Both speeds are figures, the file system is named."""
    found = checkpoint()
    assert found.status is Status.PASS
    assert found.figures == {"checkpoint_write_mbs": 300.0, "checkpoint_read_mbs": 900.0}
    assert "nfs4" in found.detail[0]


@pytest.mark.parametrize(("change", "what"), [("same_bytes", "other bytes"), ("same_values", "other values")])
def test_what_is_read_otherwise_fails(change: str, what: str) -> None:
    """Bytes and values are two questions."""
    found = checkpoint(**{change: False})
    assert found.status is Status.FAIL
    assert what in found.summary


@pytest.mark.parametrize(
    ("errno", "words", "fix"),
    [
        ("ENOSPC", "the disk is full", "df -h '/scratch/my runs'"),
        ("EDQUOT", "your quota is used up", "quota -s"),
        ("EROFS", "read-only", "findmnt -T '/scratch/my runs'"),
        ("EACCES", "you may not write there", "ls -ld '/scratch/my runs'"),
        ("EIO", "input/output error", "dmesg"),
        ("ENAMETOOLONG", "OSError: what it said", "findmnt"),
    ],
)
def test_what_a_disk_refuses_is_named(errno: str, words: str, fix: str) -> None:
    """The kernel's reason in words, and a next step that a shell takes with the blank in the name."""
    found = checkpoint(failed={"errno": errno, "text": "OSError: what it said"})
    assert found.status is Status.FAIL
    assert words in found.summary
    assert fix in found.fix
    assert found.measured == f"{errno}; 900 MiB free"
