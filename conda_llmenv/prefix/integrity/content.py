"""Contents of files as checksums, read in pieces: as they are, or with the prefix taken out."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator

from conda_llmenv.prefix.integrity.commands import PLACE

PIECE = 256 * 1024
"""Bytes read at once; also all the memory a file takes, however large it is."""

LONGEST_STRING = 1024 * 1024
"""Bytes of a string in a binary that are kept to find its end."""


def pieces(path: str, size: int, *, follow: bool = False) -> Iterator[memoryview]:
    """Yield the content of a plain file; each piece is gone when the next one is asked for.

    Args:
        path: the file.
        size: how large it is thought to be, so that a small file takes little memory.
        follow: a link is followed.

    Raises:
        OSError: it cannot be read, or is no plain file (any more).
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        if follow and not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", path)
        buffer = memoryview(bytearray(min(size + 1, PIECE)))
        while count := os.readv(descriptor, [buffer]):
            yield buffer[:count]
    finally:
        os.close(descriptor)


def checksum(path: str, size: int, algorithm: str = "sha256", *, follow: bool = False) -> str:
    """Return the checksum of a file as hex.

    Raises:
        OSError: it cannot be read.
    """
    state = hashlib.new(algorithm) if algorithm != "sha256" else hashlib.sha256()
    for piece in pieces(path, size, follow=follow):
        state.update(piece)
    return state.hexdigest()


def is_text(piece: memoryview) -> bool:
    """Return whether the first piece of a file looks like text: no NUL byte is in it."""
    return b"\0" not in bytes(piece)


def place_pattern(prefixes: tuple[bytes, ...], *, exact: bool) -> re.Pattern[bytes]:
    """Return what finds a prefix.

    Args:
        prefixes: the ways to write it, the longest first.
        exact: also where more of a name follows, as in ``/envs/one-more`` for ``/envs/one``.
    """
    return re.compile(b"(?:" + b"|".join(map(re.escape, prefixes)) + b")" + (b"" if exact else rb"(?![\w-])"))


def replaced(content: Iterator[memoryview], pattern: re.Pattern[bytes], longest: int, by: bytes) -> Iterator[bytes]:
    """Yield a content with every match replaced, also one that lies across two pieces.

    Args:
        content: in pieces.
        pattern: what to replace; matches at most ``longest`` bytes and looks one byte ahead.
        longest: bytes.
        by: what to put there.
    """
    rest = b""
    for piece in content:
        data = rest + bytes(piece)
        safe, position = len(data) - longest, 0
        for match in pattern.finditer(data):
            if match.start() >= safe:
                break
            yield data[position : match.start()] + by
            position = match.end()
        keep = max(position, safe, 0)
        yield data[position:keep]
        rest = data[keep:]
    yield pattern.sub(lambda _: by, rest)


def unpadded(content: Iterator[memoryview], prefix: bytes, placeholder: bytes) -> Iterator[bytes]:
    """Yield the content of a binary as it was before installers put the prefix in.

    They replace the placeholder in a NUL-terminated string and add as many NUL bytes as it got shorter. A string that
    holds the prefix without such padding has it of its own and stays.
    """
    gap = len(placeholder) - len(prefix)
    rest = b""
    for piece in content:
        data = rest + bytes(piece)
        done, position = _restore(data, prefix, placeholder, gap)
        yield from done
        keep = position
        if prefix not in data[position:] or len(data) - position > LONGEST_STRING:
            keep = max(position, len(data) - len(prefix) + 1)
        yield data[position:keep]
        rest = data[keep:]
    done, position = _restore(rest, prefix, placeholder, gap)
    yield from done
    yield rest[position:]


def _restore(data: bytes, prefix: bytes, placeholder: bytes, gap: int) -> tuple[list[bytes], int]:
    """Return what the strings that end in ``data`` were, and how far that goes."""
    done: list[bytes] = []
    position = 0
    while (start := data.find(prefix, position)) >= 0:
        end = data.find(b"\0", start)
        count = data.count(prefix, start, end) if end >= 0 else 0
        stop = end + count * gap
        if end < 0 or stop >= len(data):
            break
        if data.count(b"\0", end, stop) == stop - end:
            done += [data[position:start], data[start:end].replace(prefix, placeholder)]
            position = stop
        else:
            done.append(data[position : start + 1])
            position = start + 1
    return done, position


def fingerprint(content: Iterator[bytes]) -> str:
    """Return the sha256 of a content in pieces as hex."""
    state = hashlib.sha256()
    for piece in content:
        state.update(piece)
    return state.hexdigest()


def normalised(content: Iterator[memoryview], pattern: re.Pattern[bytes], longest: int) -> str:
    """Return the sha256 of a content with :data:`PLACE` for the prefix, or as it is where it is no text."""
    first = next(content, memoryview(b""))
    text = is_text(first)
    whole = _joined(first, content)
    return fingerprint(replaced(whole, pattern, longest, PLACE)) if text else fingerprint(map(bytes, whole))


def _joined(first: memoryview, others: Iterator[memoryview]) -> Iterator[memoryview]:
    yield first
    yield from others
