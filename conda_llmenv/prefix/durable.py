"""Removes a tree whatever its modes are, and words what a disk refuses so that a person can act on it."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from conda_llmenv.errors import LlmenvError, NoSpace, PrefixError

_REMOVE_TRIES = 4
_REMOVE_PAUSE = 0.05


def remove_tree(path: Path) -> bool:
    """Remove a file, link or whole tree without following links; return whether nothing of it is left.

    Folders that their owner may not write (some packages ship them) are opened up first. What another node still has
    open on a network file system stays behind as ``.nfs…``, and False is returned.
    """
    for _ in range(_REMOVE_TRIES):
        if not os.path.lexists(path):
            return True
        if path.is_symlink() or not path.is_dir():
            with suppress(OSError):
                path.unlink()
            continue
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return True
        _open_up(path)
        time.sleep(_REMOVE_PAUSE)
    return not os.path.lexists(path)


def _open_up(tree: Path) -> None:
    with suppress(OSError):
        tree.chmod(0o700)
    for folder, names, _ in os.walk(tree):
        for child in (Path(folder, name) for name in names):
            if not child.is_symlink():
                with suppress(OSError):
                    child.chmod(0o700)


@contextmanager
def disk_errors(doing: str, path: Path) -> Iterator[None]:
    """Turn an :class:`OSError` of the block into a sentence a person can act on.

    Args:
        doing: what is being done, such as ``prepare``; completes "cannot … PATH".
        path: what it is done to.

    Raises:
        NoSpace: bytes, inodes or a quota are used up; says which.
        PrefixError: anything else the system refused.
    """
    try:
        yield
    except LlmenvError:
        raise
    except OSError as error:
        raise explain(error, doing, path) from error


def explain(error: OSError, doing: str, path: Path) -> LlmenvError:
    """Return the failure to raise for what the system said about ``path``."""
    message = f"cannot {doing} {path}: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "free some room or choose another file system with -p"
        return NoSpace(message, details=(_room(path, error.errno),), hint=hint)
    hints = {
        errno.ELOOP: "links there lead in a circle; choose another folder with -p",
        errno.EROFS: "the file system is mounted read-only; choose another folder with -p",
        errno.EACCES: "choose a folder you may write to with -p",
        errno.EPERM: "choose a folder you may write to with -p",
        errno.ENOLCK: "this file system has no locks; choose a folder on another one with -p",
        errno.ENOSYS: "this file system lacks what is needed; choose a folder on another one with -p",
        errno.ENAMETOOLONG: "choose a shorter path with -p",
    }
    return PrefixError(message, hint=hints.get(error.errno or 0, ""))


def _room(path: Path, number: int) -> str:
    if number == errno.EDQUOT:
        return "the disk quota of this account is used up"
    place = next((folder for folder in (path, *path.parents) if folder.is_dir()), Path("/"))
    facts = os.statvfs(place)
    if facts.f_files and not facts.f_favail:
        return f"the file system of {place} has no inodes left ({facts.f_files} in all)"
    free, total = (blocks * facts.f_frsize // 2**20 for blocks in (facts.f_bavail, facts.f_blocks))
    return f"the file system of {place} has {free} MiB of {total} MiB free"
