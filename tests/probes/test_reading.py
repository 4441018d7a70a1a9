"""What is taken for an observation, and what is nothing but output."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from conda_llmenv.model import ProbeEnd
from conda_llmenv.probes.reading import LONGEST, TAIL_LINES, Reading
from conda_llmenv.process import Completed

NONCE = "5f2d7c0a9b8e4f1dae6c3b2a19087f6e"


def read(*lines: str, stderr: str = "") -> ProbeEnd:
    """Return the end of a probe that printed these lines."""
    reading = Reading(NONCE)
    for line in lines:
        reading.line(line)
    return reading.end(Completed(("python",), 0, "", stderr), seconds=1.0, strays=())


def record(**fields: Any) -> str:
    """Return a line as a probe writes it; a field that is None is left out."""
    whole = {"check": "a", "values": {"n": 1}, "seconds": 0.5, "rank": 0, "nonce": NONCE, **fields}
    return "\x1e" + json.dumps({key: value for key, value in whole.items() if value is not None})


def test_output_before_a_message_on_the_same_line_is_kept_apart() -> None:
    """A library that prints without a line end does not cost an observation, nor is its output lost."""
    end = read("Loading…" + record(), record(check="b", values=None, began=True), "\x1enoise")
    assert [(one.check, one.values) for one in end.observations] == [("a", {"n": 1})]
    assert end.at_work == ("b",)
    assert end.tail == ("Loading…", "\x1enoise")


@pytest.mark.parametrize(
    "line",
    [
        record(nonce=None),
        record(nonce=""),
        record(nonce="0" * 32),
        record(nonce=[NONCE]),
        record(nonce=None, values={"nonce": NONCE}),
        "\x1e" + json.dumps([NONCE]),
        "\x1e" + NONCE,
        "\x1e" + "[" * 100_000 + NONCE,
        record(rank=None),
        record(rank="0"),
        record(rank=True),
        record(rank=0.0),
        record(check=1),
        record(check=None),
        record(values=None),
        record(values=[1]),
        record(values="n"),
        record(seconds="soon"),
        record(seconds=float("nan")),
        record(seconds=float("inf")),
        record(seconds=10**400),
        record(seconds=None),
        record(began="yes"),
        record(step=1),
        record(values=None, error=1, trace=[]),
        record(values=None, error="E", trace=1),
        record(values=None, error="E", trace=[1]),
        record(values=None, error="E"),
    ],
)
def test_what_no_probe_of_this_run_writes_is_output(line: str) -> None:
    """A record without this run's nonce, or of another shape, is printed text: no observation, no step and no crash."""
    end = read(line)
    assert (end.observations, end.at_work, dict(end.last_steps)) == ((), (), {})
    assert end.tail == (line[:LONGEST],)


def test_stderr_carries_no_observations() -> None:
    """Not even with the nonce: whatever a package prints goes there."""
    end = read(stderr=record() + "\n")
    assert end.observations == ()
    assert len(end.tail) == 1


def test_what_is_told_twice_is_an_error() -> None:
    """Of two answers for one rank one is somebody else's, whichever came first; another rank's are its own."""
    end = read(record(), record(values={"n": 2}), record(rank=1), record(check="b"), record())
    assert [(one.check, one.rank, one.error.partition(" on ")[0]) for one in end.observations] == [
        ("a", 0, "told twice"),
        ("a", 1, ""),
        ("b", 0, ""),
    ]


def test_of_the_output_the_last_lines_are_shown_without_secrets() -> None:
    """A secret that the cut goes through is not shown in part, and much output costs no time."""
    reading = Reading(NONCE)
    junk = "x" * 79
    started = time.process_time()
    for _ in range(500_000):
        reading.line(junk)
    far = "see " + "y" * (LONGEST - 20) + " https://me:" + "s3cret" * 20 + "@pypi.example.org/simple"
    end = reading.end(Completed((), 1, "", f"{junk}\n" * 100_000 + far), seconds=1.0, strays=())
    assert time.process_time() - started < 3.0
    assert len(end.tail) == TAIL_LINES
    assert "s3cr" not in end.tail[-1]
    assert max(map(len, end.tail)) <= LONGEST
