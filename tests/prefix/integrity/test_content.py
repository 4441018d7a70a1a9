"""Contents read in pieces say what they say as a whole, and take no more memory when they are large."""

from __future__ import annotations

import hashlib
import re
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conda_llmenv.prefix.integrity import content

PREFIX, PLACEHOLDER = b"/p/e", b"/placeholder"
GAP = len(PLACEHOLDER) - len(PREFIX)
BITS = st.sampled_from(
    [PREFIX, b"/p", b"/", b"e", b"x", b"-", b"\n", b"\0", b"\0" * GAP, PREFIX + b"/lib\0" + b"\0" * GAP]
)
DATA = st.lists(BITS, max_size=30).map(b"".join)
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=10)


def cut(data: bytes, sizes: list[int]) -> Iterator[memoryview]:
    """Yield data in pieces of these sizes, over and over, in a buffer that is used again."""
    buffer, start = bytearray(max(sizes)), 0
    while start < len(data):
        piece = data[start : start + sizes[0]]
        buffer[: len(piece)] = piece
        yield memoryview(buffer)[: len(piece)]
        start += len(piece)
        sizes = [*sizes[1:], sizes[0]]


def joined(parts: Iterable[bytes | None], place: bytes) -> bytes:
    return b"".join(place if part is None else part for part in parts)


@given(data=DATA, sizes=SIZES, exact=st.booleans())
def test_a_prefix_across_two_pieces_is_found(data: bytes, sizes: list[int], *, exact: bool) -> None:
    """As in the whole, with what follows it looked at."""
    pattern = content.place_pattern((PREFIX,), exact=exact)
    whole = data.replace(PREFIX, b"<>") if exact else re.sub(rb"/p/e(?![\w-])", b"<>", data)
    assert joined(content.split(cut(data, sizes), pattern, len(PREFIX)), b"<>") == whole


def install(original: bytes) -> bytes:
    """Put the prefix into a binary as conda does: strings keep their room."""

    def shorter(match: re.Match[bytes]) -> bytes:
        return match[0].replace(PLACEHOLDER, PREFIX) + b"\0" * (match[0].count(PLACEHOLDER) * GAP)

    return re.sub(re.escape(PLACEHOLDER) + rb"[^\0]*\0", shorter, original)


ORIGINAL = st.lists(st.sampled_from([PLACEHOLDER, b"/lib", b"\0", b"x", b"\0\0", b"/p"]), max_size=30).map(b"".join)


@given(original=ORIGINAL, sizes=SIZES)
def test_what_was_put_into_a_binary_comes_out_again(original: bytes, sizes: list[int]) -> None:
    """Any number of times in any number of strings; what is no string stays."""
    original += b"\0"
    parts = content.unpadded(cut(install(original), sizes), PREFIX, PLACEHOLDER)
    assert joined(parts, PLACEHOLDER) == original


@given(data=DATA, sizes=SIZES)
def test_pieces_make_no_difference_in_a_binary(data: bytes, sizes: list[int]) -> None:
    """Also where padding is missing, or the prefix is not at the start of a string."""
    whole = list(content.unpadded(iter([memoryview(data)]), PREFIX, PLACEHOLDER))
    parts = list(content.unpadded(cut(data, sizes), PREFIX, PLACEHOLDER))
    assert joined(parts, b"<>") == joined(whole, b"<>")
    assert parts.count(None) == whole.count(None)


def _text(path: Path, size: int) -> None:
    line = b"no end of lines without anything\n" * 1000
    with path.open("wb") as stream:
        while stream.tell() < size:
            stream.write(line)


def _binary(path: Path, size: int) -> None:
    with path.open("wb") as stream:
        stream.write(PREFIX + b" a string that does not end")
        while stream.tell() < size:
            stream.write(b"and goes on and on and on and on" * 1000)


@pytest.mark.parametrize("kind", ["checksum", "text", "binary"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    """A few pieces, or the longest string that is waited for."""
    path, size = tmp_path / "large", 24 * 2**20
    (_binary if kind == "binary" else _text)(path, size)
    tracemalloc.start()
    try:
        pieces = content.pieces(str(path), size)
        if kind == "checksum":
            found = content.checksum(str(path), size)
        elif kind == "text":
            pattern = content.place_pattern((PREFIX,), exact=False)
            found = str(content.normalised(pieces, pattern, len(PREFIX)))
        else:
            found = str(content.fingerprint(content.unpadded(pieces, PREFIX, PLACEHOLDER), PLACEHOLDER))
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()
    assert found == hashlib.sha256(path.read_bytes()).hexdigest()
