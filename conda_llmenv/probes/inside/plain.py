"""Reads files of an environment that anybody may have put there: only plain ones, and none without end."""

from __future__ import annotations

import errno
import os
import stat

LARGEST = 64 * 2**20
"""Bytes of the largest file that is read; the largest record of a conda package has a few."""


def read(path: str) -> bytes:
    """Return the content of a plain file; a link to one counts.

    Raises:
        OSError: it cannot be read, or is a pipe, a device, a folder or too large; none of these is waited for.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        why = _odd(os.fstat(descriptor))
        if why:
            raise OSError(errno.EINVAL, why, path)
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(LARGEST)
    finally:
        os.close(descriptor)


def text(path: str) -> str:
    """Return what a plain file says as UTF-8, whatever else is in it; an empty text where it cannot be read."""
    try:
        return read(path).decode("utf-8", "replace")
    except OSError:
        return ""


def oddity(path: str) -> str:
    """Return why a file that is there would not be read; an empty text where it would be, or is absent."""
    try:
        return _odd(os.stat(path))
    except FileNotFoundError:
        return "it is a link to nothing" if os.path.islink(path) else ""
    except OSError as error:
        return error.strerror or str(error)


def _odd(facts: os.stat_result) -> str:
    if not stat.S_ISREG(facts.st_mode):
        return "it is no plain file"
    return f"it is larger than {LARGEST} bytes" if facts.st_size > LARGEST else ""
