"""Reads files that anybody may have put there: a pipe, a device or a file without end is refused, not waited for."""

from __future__ import annotations

import errno
import os
import stat

LARGEST = 64 * 2**20
"""Bytes of the largest file that is read; the largest record of a conda package has a few."""


def read_plain(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """Return the content of a plain file; a link to one counts.

    Raises:
        OSError: it cannot be read, or is a pipe, a device, a folder or larger than ``most`` bytes.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", os.fspath(path))
        if facts.st_size > most:
            raise OSError(errno.EFBIG, f"it is larger than {most} bytes", os.fspath(path))
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(most)
    finally:
        os.close(descriptor)
