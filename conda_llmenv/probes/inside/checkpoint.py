"""Writes a checkpoint the way a careful trainer does, reads it from the disk, and compares bytes and values."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .devices import load_torch, told
from .private_folder import private_folder

MIB = 1024 * 1024
SMALL, LARGE = 64 * MIB, 256 * MIB
"""A machine without a card seldom has a disk that is worth the larger file."""

TENSORS = 4


def run(asked: dict[str, Any], teller: Any) -> None:
    """Look at ``checkpoint`` in ``asked["folder"]``, else where temporary files go.

    It has ``asked["bytes"]``, else 64 MiB, or 256 MiB with a card or where ``asked["deep"]`` is set.
    """
    teller.step("import torch")
    torch = load_torch()
    large = bool(asked.get("deep")) or torch.cuda.is_available()
    size = int(asked.get("bytes") or (LARGE if large else SMALL))
    parent = str(asked.get("folder") or tempfile.gettempdir())
    with teller.looking("checkpoint") as values:
        values.update({"folder": parent, "bytes": size, "filesystem": filesystem(parent)})
        try:
            values["free"] = shutil.disk_usage(parent).free
            with private_folder(parent, "checkpoint") as folder:
                values.update(written_and_read(torch, folder, size, teller))
        except Exception as error:
            failure = disk_error(error, parent, size)
            if failure is None:
                raise
            values["failed"] = failure


def written_and_read(torch: Any, folder: Path, size: int, teller: Any) -> dict[str, Any]:
    """Write beside the final name, sync, rename, drop from memory, read and load; return speeds and comparisons."""
    state = tensors(torch, size)
    partial, final = folder / "checkpoint.partial", folder / "checkpoint.pt"
    teller.step("write a checkpoint")
    started = time.perf_counter()
    with partial.open("wb") as stream:
        torch.save(state, stream)
        stream.flush()
        os.fsync(stream.fileno())
    wrote = time.perf_counter() - started
    length = partial.stat().st_size
    before = digest(partial)
    partial.replace(final)
    sync_folder(folder)
    dropped = drop_cache(final)
    teller.step("read a checkpoint")
    started = time.perf_counter()
    after = digest(final)
    read = time.perf_counter() - started
    loaded = load(torch, final)
    equal = set(loaded) == set(state) and all(torch.equal(loaded[name], state[name]) for name in state)
    speeds = {"write_mbs": length / 1e6 / wrote, "read_mbs": length / 1e6 / read}
    return {**speeds, "same_bytes": before == after, "same_values": equal, "dropped": dropped, "length": length}


def tensors(torch: Any, size: int) -> dict[str, Any]:
    """Return a state of random tensors: a file system that compresses must not look faster than it is."""
    generator = torch.Generator().manual_seed(13)
    words = max(1, size // TENSORS // 4)
    return {"layer." + str(index): torch.rand(words, generator=generator) for index in range(TENSORS)}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb", buffering=0) as stream:
        for block in iter(lambda: stream.read(8 * MIB), b""):
            found.update(block)
    return found.hexdigest()


def sync_folder(folder: Path) -> None:
    """Make a rename last; a file system that cannot sync a folder has its own way."""
    descriptor = os.open(str(folder), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)


def drop_cache(path: Path) -> bool:
    """Ask that a file's pages leave memory, so that reading reads the disk; return whether it could be asked."""
    if not hasattr(os, "posix_fadvise"):
        return False
    descriptor = os.open(str(path), os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def load(torch: Any, path: Path) -> dict[str, Any]:
    """Load a state without running code; torch before 1.13 knows no other way than running it."""
    try:
        return dict(torch.load(str(path), map_location="cpu", weights_only=True))
    except TypeError:
        return dict(torch.load(str(path), map_location="cpu"))


def disk_error(error: BaseException, parent: str, size: int) -> dict[str, Any] | None:
    """Return the errno name behind an exception, or None where it is no error of a disk.

    torch reports a failed write as a RuntimeError; what the operating system said is behind it, if anywhere.
    """
    for one in chain(error):
        if isinstance(one, OSError) and one.errno is not None:
            return {"errno": errno.errorcode.get(one.errno, str(one.errno)), "text": told(one)}
    if "PytorchStreamWriter" in str(error) and shutil.disk_usage(parent).free < size:
        return {"errno": "ENOSPC", "text": told(error)}
    return None


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and those it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def filesystem(parent: str) -> str:
    """Return the type of the file system a folder is on, such as ``ext4`` or ``nfs4``; empty where unknown."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        _, mount, name = line.split(" ")[:3]
        mount = mount.replace("\\040", " ")
        inside = os.path.realpath(parent) + "/"
        if inside.startswith(mount.rstrip("/") + "/") and len(mount) >= len(best):
            best, kind = mount, name
    return kind
