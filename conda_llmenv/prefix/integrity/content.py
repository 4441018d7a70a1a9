"""Contents of files as checksums, read in pieces: as they are, or with the prefix taken out."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from conda_llmenv.prefix.integrity.commands import PLACE

Parts: TypeAlias = Iterator[bytes | None]
"""A content in pieces; None stands where the prefix is."""

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


def head(path: str, count: int) -> bytes:
    """Return the first bytes of a file, fewer if it has fewer; a link is followed and a pipe not waited for.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(descriptor, count)
    finally:
        os.close(descriptor)


def checksum(path: str, size: int, algorithm: str = "sha256", *, follow: bool = False) -> str:
    """Return the checksum of a file as hex.

    Raises:
        OSError: it cannot be read.
    """
    state = hashlib.sha256() if algorithm == "sha256" else hashlib.new(algorithm)
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


def split(content: Iterator[memoryview], pattern: re.Pattern[bytes], longest: int) -> Parts:
    """Yield a text without the prefix, and None for each place where it was, also across two pieces.

    Args:
        content: in pieces.
        pattern: finds the prefix; matches at most ``longest`` bytes, looks one byte ahead and has no groups.
        longest: bytes.
    """
    rest = b""
    for piece in content:
        data = rest + bytes(piece)
        safe, position = max(len(data) - longest, 0), 0
        for match in pattern.finditer(data):
            if match.start() >= safe:
                break
            yield data[position : match.start()]
            yield None
            position = match.end()
        keep = max(position, safe)
        yield data[position:keep]
        rest = data[keep:]
    yield from _between(pattern.split(rest))


def unpadded(content: Iterator[memoryview], prefix: bytes, placeholder: bytes) -> Parts:
    """Yield a binary as it was before installers put the prefix in, and None for each place where it is.

    They replace the placeholder in a NUL-terminated string and add as many NUL bytes as it got shorter. A string that
    holds the prefix without such padding has it of its own and stays.
    """
    gap = len(placeholder) - len(prefix)
    rest = b""
    for piece in content:
        data = rest + bytes(piece)
        done, position = _restore(data, prefix, gap)
        yield from done
        keep = position
        if prefix not in data[position:] or len(data) - position > LONGEST_STRING:
            keep = max(position, len(data) - len(prefix) + 1)
        yield data[position:keep]
        rest = data[keep:]
    done, position = _restore(rest, prefix, gap)
    yield from done
    yield rest[position:]


def _restore(data: bytes, prefix: bytes, gap: int) -> tuple[list[bytes | None], int]:
    """Return what the strings that end in ``data`` were, and how far that goes."""
    done: list[bytes | None] = []
    position = 0
    while (start := data.find(prefix, position)) >= 0:
        end = data.find(b"\0", start)
        stop = end + data.count(prefix, start, end) * gap
        if end < 0 or stop >= len(data):
            break
        if data.count(b"\0", end, stop) == stop - end:
            done += [data[position:start], *_between(data[start:end].split(prefix))]
            position = stop
        else:
            done.append(data[position : start + 1])
            position = start + 1
    return done, position


def _between(parts: list[bytes]) -> Parts:
    """Yield the parts with None between each two."""
    for number, part in enumerate(parts):
        if number:
            yield None
        yield part


class Fingerprint(NamedTuple):
    """The sha256 of a content with something in place of the prefix, and how often that is.

    The number keeps apart a file that has the prefix from one that has what was put in its place.
    """

    checksum: str
    places: int

    def __str__(self) -> str:
        """Return one text for both; of a content without the prefix it is the plain checksum."""
        return f"{self.checksum} {self.places}" if self.places else self.checksum


def fingerprint(parts: Parts, place: bytes) -> Fingerprint:
    """Return the fingerprint of a content with ``place`` where the prefix is."""
    state, places = hashlib.sha256(), 0
    for part in parts:
        places += part is None
        state.update(place if part is None else part)
    return Fingerprint(state.hexdigest(), places)


def normalised(content: Iterator[memoryview], pattern: re.Pattern[bytes], longest: int) -> Fingerprint:
    """Return the fingerprint of a text with :data:`PLACE` for the prefix, or of anything else as it is."""
    first = next(content, memoryview(b""))
    text = is_text(first)
    whole = _joined(first, content)
    return fingerprint(split(whole, pattern, longest) if text else map(bytes, whole), PLACE)


def _joined(first: memoryview, others: Iterator[memoryview]) -> Iterator[memoryview]:
    yield first
    yield from others
