"""What a probe writes, and what its reader makes of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from conda_llmenv.model import ProbeEnd
from conda_llmenv.probes.inside.telling import ATOMIC, Teller
from conda_llmenv.probes.reading import Reading


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def read(*lines: str) -> ProbeEnd:
    """Return the end of a probe that printed these lines."""
    reading = Reading()
    for line in lines:
        reading.line(line)
    return reading.end(timed_out=False, returncode=0, seconds=1.0, strays=())


def deep(levels: int) -> None:
    """Raise far down, with a text as long as those of compilers."""
    if levels:
        deep(levels - 1)
    else:
        raise ValueError("ä" * 100 + "x" * 10_000)


def test_a_failure_is_one_write_that_other_ranks_cannot_get_into(pipe: tuple[int, int]) -> None:
    """However deep the traceback and whatever its letters, what is told of an exception fits into one atomic write."""
    with Teller(pipe[1]).looking("collectives"):
        deep(30)
    written = os.read(pipe[0], 1 << 16).splitlines(keepends=True)
    assert len(written) == 2
    assert all(len(line) <= ATOMIC for line in written)
    (seen,) = read(*(line.decode() for line in written)).observations
    assert seen.error.startswith("ValueError: ä")


def test_output_before_a_message_on_the_same_line_is_kept_apart() -> None:
    """A library that prints without a line end does not cost an observation, nor is its output lost."""
    end = read('Loading…\x1e{"check": "a", "values": {"n": 1}}', '\x1e{"check": "b", "began": true}', "\x1enoise")
    assert [(one.check, one.values) for one in end.observations] == [("a", {"n": 1})]
    assert end.at_work == ("b",)
    assert end.tail == ("Loading…", "\x1enoise")
