"""Failures of a disk, told apart: full, out of inodes, over quota, read-only, forbidden."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from conda_llmenv.errors import InstallFailed, NoSpace

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
UNWRITABLE = (errno.EROFS, errno.EACCES)

AMPLE_BYTES = 64 * 1024 * 1024
"""A disk that refuses to write with more than this free, and more than is needed, has run out of something else."""


def disk_failure(number: int, doing: str, path: Path, needed: int = 0) -> InstallFailed:
    """Return the failure of a disk, with what is left of it where it is full.

    Args:
        number: the error number of the operating system.
        doing: what was being written.
        path: where; the nearest folder that exists is looked at.
        needed: bytes that the work as a whole may need there.
    """
    existing = next((folder for folder in (path, *path.parents) if folder.exists()), Path("/"))
    if number == errno.EDQUOT:
        return NoSpace(f"your quota on the disk of {existing} is used up", hint="remove files there, or ask for more")
    if number == errno.ENOSPC:
        return _full(doing, existing, needed)
    if number == errno.EROFS:
        return InstallFailed(
            f"{path} is on a disk that is mounted read-only", hint="choose another prefix or package cache"
        )
    if number == errno.EACCES:
        hint = (
            f"{existing} belongs to somebody else or is write-protected: choose another prefix, or set CONDA_PKGS_DIRS"
        )
        return InstallFailed(f"no permission to write {path}", hint=hint)
    return InstallFailed(
        f"{path} cannot be used: {os.strerror(number).lower()}", details=(f"while working on {doing}",)
    )


def _full(doing: str, folder: Path, needed: int) -> NoSpace:
    """Tell a disk without room from one without inodes, which ``df`` shows as half empty.

    What had been written is gone by now, so the counters cannot tell; a disk that has room for all of it lacked inodes.
    """
    facts = os.statvfs(folder)
    free = facts.f_bavail * facts.f_frsize
    if facts.f_files and free > max(needed, AMPLE_BYTES):
        return NoSpace(
            f"no space left on the disk of {folder} with {_size(free)} free: most likely its inodes are used up",
            details=(f"while writing {doing}",),
            hint="look with `df -i`; remove many small files there, or set CONDA_PKGS_DIRS to another disk",
        )
    return NoSpace(
        f"no space left on the disk of {folder}",
        details=(f"while writing {doing}; {_size(free)} are free now",),
        hint="make room, or choose another prefix, or set CONDA_PKGS_DIRS to another disk",
    )


def _size(count: int) -> str:
    giga = 10**9
    return f"{count / giga:.1f} GB" if count >= giga else f"{count / 10**6:.1f} MB"
