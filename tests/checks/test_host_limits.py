"""What shared memory, limits, swap and disks come to."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.checks.host_amounts import GB, MB, amount, need
from conda_llmenv.model import HostFacts, Status
from tests.checks.host_scenes import DEV_BOX, NODE, fix_of, judged

UNLIMITED = -1
IB = {"device": "mlx5_0", "port": "1", "state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)"}
IB["link_layer"] = "InfiniBand"


def shm(size: int, free: int | None = None, write: str = "") -> dict[str, Any]:
    return {"size": size, "free": size if free is None else free, "write": write}


def test_docker_gives_too_little_shared_memory() -> None:
    """64 MB ends DataLoader workers with `Bus error`; the sentence has the sum and the fix can be pasted."""
    found = judged("shm", shm(64 * MB))
    assert found.status is Status.FAIL
    assert found.summary == "/dev/shm has 64 MB; 4 workers × 3 batches of 96 MB need 1.2 GB"
    assert fix_of("shm", found).startswith("docker run … --shm-size=16g ")


@pytest.mark.parametrize(
    ("size", "free", "facts", "settings", "status"),
    [
        (4 * MB, None, DEV_BOX, {}, Status.FAIL),
        (512 * MB, None, NODE, {}, Status.FAIL),  # a container's limit on a large machine
        (1000 * MB, None, DEV_BOX, {}, Status.WARN),  # half of a small machine's memory is what the kernel gives
        (1024 * MB, None, NODE, {}, Status.PASS),
        (64 * GB, 63 * GB, NODE, {}, Status.PASS),
        (64 * GB, 500 * MB, NODE, {}, Status.WARN),  # full for now; there is room once others end
        (64 * GB, 10 * MB, NODE, {}, Status.FAIL),
        (2 * GB, None, NODE, {"workers": 16, "batch_mb": 256}, Status.FAIL),
        (16 * GB, None, NODE, {"workers": 16, "batch_mb": 256}, Status.PASS),
        (512 * MB, None, DEV_BOX, {"workers": 2, "batch_mb": 8}, Status.WARN),
    ],
)
def test_shared_memory(size: int, free: int | None, facts: HostFacts, settings: dict[str, int], status: Status) -> None:
    """Enough for the workers that the layers promise, else 1 GB; a small machine is not at fault for being small."""
    assert judged("shm", shm(size, free), facts, settings=settings).status is status


def test_shared_memory_that_others_filled() -> None:
    """A full /dev/shm is emptied, not enlarged."""
    assert "ls -l /dev/shm" in judged("shm", shm(64 * GB, 10 * MB)).fix


def test_shared_memory_that_cannot_be_written() -> None:
    """Room counts for nothing where a file cannot be made."""
    found = judged("shm", shm(64 * GB, write="Permission denied"))
    assert (found.status, found.summary) == (Status.FAIL, "/dev/shm cannot be written: Permission denied")


@pytest.mark.parametrize(
    ("soft", "hard", "facts", "status", "fix"),
    [
        (64, 64, DEV_BOX, Status.FAIL, "limits.d"),
        (64, 1048576, NODE, Status.FAIL, "ulimit -n 65536"),
        (1023, 1023, NODE, Status.FAIL, "limits.d"),
        (1024, UNLIMITED, DEV_BOX, Status.PASS, ""),  # what every distribution starts with
        (1024, 524288, NODE, Status.WARN, "ulimit -n 65536"),
        (1024, 4096, NODE, Status.WARN, "limits.d"),
        (65536, 65536, NODE, Status.PASS, ""),
        (UNLIMITED, UNLIMITED, NODE, Status.PASS, ""),
        (None, None, NODE, Status.SKIP, ""),
    ],
)
def test_open_files(soft: int | None, hard: int | None, facts: HostFacts, status: Status, fix: str) -> None:
    """Less than the usual default fails; the default is a warning where there are cards, and a fix the limit allows."""
    found = judged("nofile", {"soft": soft, "hard": hard}, facts)
    assert found.status is status
    assert fix in fix_of("nofile", found)


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"soft": 8 * MB, "infiniband": []}, Status.PASS),
        ({"soft": 8 * MB, "infiniband": [IB]}, Status.FAIL),
        ({"soft": 8 * MB, "infiniband": [{**IB, "state": "1: DOWN"}]}, Status.PASS),
        ({"soft": 8 * MB, "infiniband": [IB], "exempt": True}, Status.PASS),
        ({"soft": UNLIMITED, "infiniband": [IB]}, Status.PASS),
        ({"soft": 2_000_000 * MB, "infiniband": [IB]}, Status.PASS),
        ({"soft": None}, Status.SKIP),
    ],
)
def test_locked_memory(values: dict[str, Any], status: Status) -> None:
    """Only InfiniBand locks much; TCP needs none of it."""
    assert judged("memlock", values).status is status


def test_stack_without_a_limit() -> None:
    """Unlimited is the bad value here."""
    found = judged("stack", {"soft": UNLIMITED, "hard": UNLIMITED})
    assert (found.status, fix_of("stack", found)) == (Status.WARN, "ulimit -s 8192")
    assert judged("stack", {"soft": 8 * MB, "hard": UNLIMITED}).status is Status.PASS


@pytest.mark.parametrize(
    ("total", "free", "status"),
    [
        (0, 0, Status.PASS),
        (8 * GB, 7 * GB, Status.PASS),
        (8 * GB, GB, Status.WARN),
        (512 * MB, 0, Status.PASS),
        (None, None, Status.SKIP),
    ],
)
def test_swap(total: int | None, free: int | None, status: Status) -> None:
    """Swap in heavy use is a warning, never a failure."""
    assert judged("swap", {"total": total, "free": free, "limit": 16 * GB}).status is status


def place(path: str, **changes: Any) -> dict[str, Any]:
    usual = {
        "path": path,
        "mount": "/",
        "type": "ext4",
        "size": 100 * GB,
        "free": 50 * GB,
        "inodes": 10**6,
        "inodes_free": 10**5,
        "read_only": False,
        "noexec": False,
        "writable": True,
    }
    return {**usual, **changes}


@pytest.mark.parametrize(
    ("name", "changes", "status", "words"),
    [
        ("tmp", {"free": 10 * MB}, Status.FAIL, "has 10 MB left"),
        ("tmp", {"free": 500 * MB}, Status.WARN, "has 500 MB left"),
        ("tmp", {"inodes_free": 3}, Status.FAIL, "3 inodes left"),
        ("tmp", {"inodes": 0, "inodes_free": 0}, Status.PASS, "room"),  # btrfs and some network file systems count none
        ("tmp", {"noexec": True}, Status.WARN, "noexec"),
        ("tmp", {"writable": False}, Status.FAIL, "cannot be written"),
        ("home", {"free": 0}, Status.WARN, "HOME"),
        ("home", {"read_only": True}, Status.WARN, "cannot be written"),
        ("prefix", {"noexec": True}, Status.FAIL, "no library in it can be loaded"),
        ("prefix", {"read_only": True, "writable": False, "free": 0}, Status.PASS, "room"),  # published and finished
    ],
)
def test_disks(name: str, changes: dict[str, Any], status: Status, words: str) -> None:
    """What is written to needs room; an environment itself may be read-only and full."""
    places = {one: place(f"/{one}") for one in ("prefix", "tmp", "home")}
    places[name] |= changes
    found = judged("disk", {"places": places, "tmpdir": ""})
    assert found.status is status
    assert words in found.summary


def test_home_that_is_not_there() -> None:
    """A service account has no HOME: a warning that says how to move caches."""
    places = {"tmp": place("/tmp"), "home": {"path": "/nonexistent", "problem": "No such file or directory"}}
    found = judged("disk", {"places": places, "tmpdir": "/tmp/"})
    assert found.status is Status.WARN
    assert "HF_HOME" in found.fix


def test_tmpdir_that_is_not_used() -> None:
    """A TMPDIR that cannot be written is passed over by every program, and the warning says which folder is used."""
    found = judged("disk", {"places": {"tmp": place("/tmp")}, "tmpdir": "/scratch/gone"})
    assert (found.status, "/scratch/gone" in found.summary) == (Status.WARN, True)


def test_amounts_never_promise_too_much() -> None:
    """What there is is rounded down, what is needed is rounded up."""
    assert (amount(1279 * MB), need(1152 * MB), amount(64 * MB), amount(3 * 1024)) == (
        "1.2 GB",
        "1.2 GB",
        "64 MB",
        "3 kB",
    )
