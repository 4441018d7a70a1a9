"""Tells what is seen: one JSON text for each check, written at once so that the lines of several ranks never mix.

Each carries the nonce of its run, a random word that the probe is given and its packages are not. That keeps a package
from being taken for the probe by accident, as one that prints such records itself, and by simple forging. It is no
guard against code that goes looking for the word, in the command line that the system shows, in this module or in the
memory of another thread: whoever can do that inside an environment can as well make its torch say anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

RECORD = "\x1e"
"""What RFC 7464 puts before each JSON text."""

ATOMIC = 4096
"""PIPE_BUF of Linux: a write up to this size is never interleaved with those of other ranks."""

TRACE_LINES, TRACE_CHARACTERS, ERROR_CHARACTERS = 12, 300, 1500
"""What is kept of an exception: the last lines of its traceback, and the beginning of each and of its own text."""


LONGEST_SECONDS = 10**9
"""What a record may say that looking took; neither ``NaN`` nor ``Infinity`` is in between."""


class Teller:
    """Writes observations to one file descriptor, with the rank of this process and the nonce of its run."""

    def __init__(self, descriptor: int, nonce: str) -> None:
        self.descriptor = descriptor
        self.nonce = nonce
        self.rank = int(os.environ.get("RANK", "0"))

    @contextlib.contextmanager
    def looking(self, check: str) -> Iterator[dict[str, Any]]:
        """Tell that a check begins, hand out the mapping for its values, and tell these or the exception.

        An exception ends the looking for this check and not the probe, unless it is no ``Exception``.
        """
        values: dict[str, Any] = {}
        started = time.monotonic()
        self._write({"check": check, "began": True, "rank": self.rank})
        try:
            yield values
        except Exception as error:  # whatever a package raises is what was seen
            self._write(self._failure(check, error, time.monotonic() - started))
        else:
            self.tell(check, values, time.monotonic() - started)

    def tell(self, check: str, values: Mapping[str, Any], seconds: float = 0.0) -> None:
        """Tell one observation."""
        self._write({"check": check, "values": values, "seconds": round(seconds, 4), "rank": self.rank})

    def step(self, text: str) -> None:
        """Tell what comes next, so that a rank that never gets past it can be named with it."""
        self._write({"step": text, "rank": self.rank})

    def _failure(self, check: str, error: Exception, seconds: float) -> dict[str, Any]:
        lines = "".join(traceback.format_exception(type(error), error, error.__traceback__)).strip().splitlines()
        record: dict[str, Any] = {
            "check": check,
            "error": f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS],
            "trace": [line[:TRACE_CHARACTERS] for line in lines[-TRACE_LINES:]],
            "seconds": round(seconds, 4),
            "rank": self.rank,
        }
        while record["trace"] and len(self._encoded(record)) > ATOMIC:
            del record["trace"][0]
        return record

    def _write(self, record: Mapping[str, Any]) -> None:
        data = self._encoded(record)
        while data:  # one write wherever it fits; a large inventory comes from a probe of a single process
            data = data[os.write(self.descriptor, data) :]

    def _encoded(self, record: Mapping[str, Any]) -> bytes:
        text = json.dumps({**record, "nonce": self.nonce}, default=str)
        return (RECORD + text + "\n").encode("utf-8", "backslashreplace")


def told(line: str, nonce: str) -> dict[str, Any] | None:
    """Return the record that a line ends with; None for anything that no :class:`Teller` of this nonce has written."""
    _, separator, text = line.rpartition(RECORD)
    if not separator or nonce not in text:
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    known = isinstance(record, dict) and record.get("nonce") == nonce and type(record.get("rank")) is int
    return record if known and _has_shape(record) else None


def _has_shape(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a step, a beginning, values, or an exception."""
    if "step" in record:
        return isinstance(record["step"], str)
    if not isinstance(record.get("check"), str):
        return False
    if "began" in record:
        return record["began"] is True
    if type(record.get("seconds")) not in {int, float} or not 0 <= record["seconds"] <= LONGEST_SECONDS:
        return False
    if "error" in record:
        return isinstance(record["error"], str) and _is_text(record.get("trace"))
    return isinstance(record.get("values"), dict)


def _is_text(lines: Any) -> bool:
    return isinstance(lines, list) and all(isinstance(line, str) for line in lines)
