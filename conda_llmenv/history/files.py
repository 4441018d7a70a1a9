"""Files in a folder that others may write to as well, perhaps from other machines at the same moment."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

PRIVATE = 0o600
SHARED = 0o644
"""Permissions before the umask, for a folder that others may list."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def publish(path: Path, content: bytes) -> None:
    """Write a file in one step; a reader sees all of it or nothing, and nobody needs a lock.

    It may be read by whoever may look into its folder.

    Raises:
        OSError: the disk refused; nothing of it is left.
    """
    mode = SHARED if path.parent.stat().st_mode & _OTHERS else PRIVATE
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
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


def read_plain(path: Path, most: int) -> tuple[bytes, int]:
    """Return the content of a plain file and the account that owns it.

    Raises:
        OSError: it cannot be read, or is a link, a pipe, a device, a folder or larger than ``most`` bytes; none of
            these is waited for or followed.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file")
        if facts.st_size > most:
            raise OSError(errno.EFBIG, "it is larger than a report can be")
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(most + 1), facts.st_uid
    finally:
        os.close(descriptor)


def why(error: OSError) -> str:
    """Return the reason for a failure as half a sentence."""
    if error.errno == errno.ELOOP:
        return "it is a link"
    return error.strerror or str(error)
