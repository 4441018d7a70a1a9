"""What a probe writes, and what its reader makes of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from conda_llmenv.probes.inside.telling import ATOMIC, Teller
from tests.probes.test_reading import NONCE, read


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def deep(levels: int) -> None:
    """Raise far down, with a text as long as those of compilers."""
    if levels:
        deep(levels - 1)
    else:
        raise ValueError("ä" * 100 + "x" * 10_000)


def test_a_failure_is_one_write_that_other_ranks_cannot_get_into(pipe: tuple[int, int]) -> None:
    """However deep the traceback and whatever its letters, what is told of an exception fits into one atomic write."""
    with Teller(pipe[1], NONCE).looking("collectives"):
        deep(30)
    written = os.read(pipe[0], 1 << 16).splitlines(keepends=True)
    assert len(written) == 2
    assert all(len(line) <= ATOMIC for line in written)
    (seen,) = read(*(line.decode() for line in written)).observations
    assert seen.error.startswith("ValueError: ä")
