"""Plain files: reads what anybody may have put there without waiting for a pipe or a device; writes in one step."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

LARGEST = 64 * 2**20
"""Bytes of the largest file that is read; the largest record of a conda package has a few."""

TEMPORARY_SUFFIX = ".llmenv-tmp"
"""End of the name of a file that is being written; one that a crash left behind can be told by it."""


def read_plain(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """Return the content of a plain file; a link to one counts.

    Raises:
        OSError: it cannot be read, or is a pipe, a device, a folder or larger than ``most`` bytes.
    """
    return _read(path, most)[0]


def read_owned(path: str | os.PathLike[str], most: int = LARGEST) -> tuple[bytes, int]:
    """Return the content of a plain file and the account that owns it; a link is refused, whatever it leads to.

    Raises:
        OSError: as in :func:`read_plain`; ``ELOOP`` where it is a link.
    """
    return _read(path, most, os.O_NOFOLLOW)


def _read(path: str | os.PathLike[str], most: int, more_flags: int = 0) -> tuple[bytes, int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | more_flags)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", os.fspath(path))
        if facts.st_size > most:
            raise OSError(errno.EFBIG, f"it is larger than {most} bytes", os.fspath(path))
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(most), facts.st_uid
    finally:
        os.close(descriptor)


def write_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Publish ``content`` at ``path`` in one step that a crash cannot split; nobody needs a lock to read or write it.

    Written beside the target, flushed, renamed over it, and the folder flushed. A link at ``path`` is replaced, not
    followed.

    Args:
        path: the final name; its folder must exist.
        content: the whole new content.
        mode: permissions before the umask; 0o600 for anything that holds an address.

    Raises:
        OSError: it could not be written; ``path`` is as before.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    flush(path.parent)


def flush(path: Path) -> None:
    """Make a file's content, or the names in a folder, durable; what cannot be flushed is taken as it is.

    Some file systems have no flushing of folders, and one may write to a folder that one may not list.
    """
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
