"""A log of any size as the few lines worth looking at, in bounded memory, whatever bytes it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from conda_llmenv.diagnosis.prefilter import Prefilter

BEFORE, AFTER = 1024, 3072
"""Bytes of a line that are looked at around a place; a line may be as long as the file."""

_UNFINISHED = 1 << 16
"""Bytes of a line after which its end is no longer waited for."""

_ESCAPE = re.compile(rb"\x1b\[[0-9;:?]{0,32}[A-Za-z]")
"""Colours and movements of the cursor."""


class Excerpt(Struct):
    """A line, or the part of a very long one around what was found.

    Attributes:
        line: its number, from 1.
        text: without line end, colours and unreadable bytes.
        rules: numbers of the rules that may apply.
    """

    line: int
    text: str
    rules: set[int]


class Extent(Struct):
    """How much was read: lines and bytes."""

    lines: int = 0
    size: int = 0


def excerpts(chunks: Iterable[bytes], prefilter: Prefilter, extent: Extent) -> Iterator[Excerpt]:
    """Yield what is worth looking at, in the order of the file; ``extent`` is filled on the way."""
    rest, searched = b"", 0
    for chunk in chunks:
        extent.size += len(chunk)
        text = rest + chunk
        text = _ESCAPE.sub(b"", text) if b"\x1b" in chunk or b"\x1b" in rest else text
        end = text.rfind(b"\n") + 1
        if len(text) - end > _UNFINISHED:
            end = len(text) - AFTER
        end = max(end, searched)
        yield from _search(text, searched, end, prefilter, extent)
        kept = end if text[end - 1 : end] == b"\n" else max(0, end - BEFORE)
        rest, searched = text[kept:], end - kept
    yield from _search(rest, searched, len(rest), prefilter, extent)
    extent.lines += rest[-1:] not in {b"", b"\n"}


def _search(text: bytes, start: int, end: int, prefilter: Prefilter, extent: Extent) -> Iterator[Excerpt]:
    """Yield the excerpts for what begins in ``text[start:end]``; several finds in one line are one excerpt."""
    counted, covered, current = start, -1, None
    while (hit := prefilter.search(text, start)) is not None and hit[0] < end:
        at, rules = hit
        if current is not None and at < covered:
            current.rules |= rules
        else:
            if current is not None:
                yield current
            extent.lines += text.count(b"\n", counted, at)
            counted = at
            first, last = _around(text, at)
            current = Excerpt(extent.lines + 1, text[first:last].decode("utf-8", "replace"), set(rules))
            covered = last if text[last : last + 1] in {b"\n", b"\r", b""} else last - BEFORE
        start = at + 1
    if current is not None:
        yield current
    extent.lines += text.count(b"\n", counted, end)


def _around(text: bytes, at: int) -> tuple[int, int]:
    """Return where the line around a place begins and ends; progress bars begin a new one with a carriage return."""
    earliest, latest = max(0, at - BEFORE), min(len(text), at + AFTER)
    first = max(text.rfind(b"\n", earliest, at) + 1, text.rfind(b"\r", earliest, at) + 1, earliest)
    ends = [place for place in (text.find(b"\n", at, latest), text.find(b"\r", at, latest)) if place >= 0]
    return first, min(ends, default=latest)
