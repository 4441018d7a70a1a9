"""Locks: exclusion, a time limit, the holder's name, no litter; on local and on network file systems."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conda_llmenv.errors import LockBusy, PrefixError
from conda_llmenv.prefix.lock import FolderLock
from conda_llmenv.prefix.mounts import filesystem_type, is_network
from tests.prefix.test_crashes import environment

HOLD = """
import sys, time
from pathlib import Path
from conda_llmenv.prefix.lock import FolderLock
with FolderLock(Path(sys.argv[1]), what="it", soft=sys.argv[2] == "soft"):
    print("held", flush=True)
    time.sleep(float(sys.argv[3]))
"""

COUNT = """
import sys
from pathlib import Path
from conda_llmenv.prefix.lock import FolderLock
folder = Path(sys.argv[1])
for _ in range(5):
    with FolderLock(folder / "lock", what="it", soft=sys.argv[2] == "soft"):
        value = int((folder / "counter").read_text())
        (folder / "counter").write_text(str(value + 1))
"""


@contextlib.contextmanager
def held(path: Path, kind: str) -> Iterator[int]:
    """Let another process hold the lock; give its pid, and kill it in the end."""
    command = [sys.executable, "-c", HOLD, str(path), kind, "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(path.parent)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        yield child.pid
        child.kill()


@pytest.mark.parametrize("kind", ["native", "soft"])
def test_only_one_holds_it(kind: str, tmp_path: Path) -> None:
    """Four processes count together without losing a step, and nothing native is left behind."""
    (tmp_path / "counter").write_text("0")
    command = [sys.executable, "-c", COUNT, str(tmp_path), kind]
    children = [subprocess.Popen(command, env=environment(tmp_path)) for _ in range(4)]
    assert [child.wait(timeout=60) for child in children] == [0] * 4
    assert (tmp_path / "counter").read_text() == "20"
    if kind == "native":
        assert [path.name for path in tmp_path.iterdir()] == ["counter"]


@pytest.mark.parametrize("kind", ["native", "soft"])
def test_a_holder_is_named(kind: str, tmp_path: Path) -> None:
    """Who waits learns host, pid and since when, within a second, and gives up at the limit (row 22)."""
    said: list[tuple[float, str]] = []
    begun = time.monotonic()
    lock = FolderLock(
        tmp_path / "lock",
        what="/envs/sft",
        timeout=0.5,
        on_wait=lambda text: said.append((time.monotonic() - begun, text)),
        soft=kind == "soft",
    )
    with held(tmp_path / "lock", kind) as pid, pytest.raises(LockBusy) as caught, lock:
        pass
    assert f"process {pid} on {os.uname().nodename} (since 20" in caught.value.message
    assert "/envs/sft is busy" in caught.value.message
    assert len(said) == 1
    assert said[0][0] < 3  # 0.2 s, and room for a busy machine
    assert f"waiting for process {pid}" in said[0][1]


@pytest.mark.parametrize("kind", ["native", "soft"])
def test_a_killed_holder_is_no_obstacle(kind: str, tmp_path: Path) -> None:
    """The kernel frees a native lock; a strict one is freed after proof of death (row 24)."""
    with held(tmp_path / "lock", kind):
        pass
    with FolderLock(tmp_path / "lock", what="it", timeout=10, soft=kind == "soft") as lock:
        holder = lock.holder()
        assert holder is not None
        assert holder[0].pid == os.getpid()


def test_a_strict_lock_without_proof_of_death_stays(tmp_path: Path) -> None:
    """A claim that is signed on another host is never broken; the message says how to clear it."""
    with held(tmp_path / "lock", "soft"):
        pass
    signed = tmp_path / "lock.holder"
    signed.write_text(signed.read_text().replace(os.uname().nodename, "elsewhere"))
    with pytest.raises(LockBusy) as caught, FolderLock(tmp_path / "lock", what="it", timeout=0.5, soft=True):
        pass
    assert "on elsewhere" in caught.value.message
    assert f"remove {tmp_path / 'lock'} and {tmp_path / 'lock'}.filelock" in caught.value.hint


@pytest.mark.parametrize("junk", [b"", b"\xff\xfe\x00", b"{}", b'{"owner": {"host": 3}}', b"[" * 5000])
def test_junk_in_the_lock_file_is_harmless(junk: bytes, tmp_path: Path) -> None:
    """What stands in it is for people only (row 21)."""
    (tmp_path / "lock").write_bytes(junk)
    lock = FolderLock(tmp_path / "lock", what="it", soft=False)
    assert lock.holder() is None
    with lock:
        pass


def test_junk_in_place_of_a_strict_lock_is_explained(tmp_path: Path) -> None:
    """It is never taken for free (row 21)."""
    (tmp_path / "lock").write_bytes(b"\xff\xfe\x00 not ours")
    with pytest.raises(PrefixError) as caught, FolderLock(tmp_path / "lock", what="it", timeout=1, soft=True):
        pass
    assert str(tmp_path / "lock") in caught.value.hint


def test_a_folder_that_cannot_be_locked_is_explained(tmp_path: Path) -> None:
    """The place of the lock is a file (row 25)."""
    (tmp_path / "a").touch()
    with pytest.raises(PrefixError, match=r"cannot lock .*/a/lock"), FolderLock(tmp_path / "a" / "lock", what="it"):
        pass


@pytest.mark.parametrize("number", ["ENOLCK", "ENOSYS", "EIO"])
def test_a_file_system_without_locks_is_explained(number: str, tmp_path: Path) -> None:
    """The system call that locks fails: one sentence, at once, no endless wait (row 25)."""
    from tests.prefix.kill import strace_reason

    if strace_reason() is not None:
        pytest.skip(str(strace_reason()))
    command = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"inject=flock:error={number}"]
    command += [sys.executable, "-c", HOLD, str(tmp_path / "lock"), "native", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(tmp_path), timeout=30)
    assert "conda_llmenv.errors.PrefixError: cannot lock " in done.stderr


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:35 / /nfs rw - nfs4 server:/export rw,vers=4.2
41 40 0:36 / /nfs/local rw - xfs /dev/vdb rw
42 22 0:37 / /with\\040space rw master:3 propagate_from:1 - lustre mgs:/fs rw
43 22 0:38 / /home/me/remote rw - fuse.sshfs me@host: rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/x", "ext4"),
        ("/nfs/envs/a", "nfs4"),
        ("/nfs/local/a", "xfs"),
        ("/nfsx", "ext4"),
        ("/with space/a", "lustre"),
        ("/home/me/remote", "fuse.sshfs"),
    ],
)
def test_the_file_system_of_a_path(path: str, kind: str) -> None:
    """The innermost mount decides."""
    assert filesystem_type(Path(path), MOUNTS) == kind


def test_this_folder_is_local(tmp_path: Path) -> None:
    """Tests run on a local disk; so the native lock is what they exercise."""
    assert filesystem_type(Path("/a"), "") is None
    assert is_network(tmp_path) is (filesystem_type(tmp_path) in {"nfs", "nfs4", "9p", "virtiofs", "lustre"})
