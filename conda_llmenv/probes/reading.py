"""Reads what a probe prints as it comes: observations between RFC 7464 separators, everything else as its output.

Only stdout is read for records, and only those that carry the nonce of this run count; what that protects from, and
what it does not, stands in :mod:`conda_llmenv.probes.inside.telling`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from conda_llmenv.model import Observation, ProbeEnd
from conda_llmenv.probes.inside.telling import RECORD, told
from conda_llmenv.process import Completed
from conda_llmenv.redact import mask

TAIL_LINES = 20
"""Lines of other output that are kept, the last ones: torchrun's summary of a failed launch has some fifteen."""

LONGEST = 400
"""Characters that are kept of such a line."""

MASKED = 8192
"""Characters of it that are looked at for secrets: one that begins among the first ones ends among these."""

TWICE = "told twice on one rank: something else than the probe writes observations too"


class Reading:
    """What one probe has said so far; lines come from a reader thread."""

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        self._lock = threading.Lock()
        self._observations: dict[tuple[str, int], Observation] = {}
        self._begun: dict[tuple[str, int], None] = {}
        self._steps: dict[int, str] = {}
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)

    def line(self, text: str) -> None:
        """Take one line of stdout."""
        record = told(text, self._nonce) if RECORD in text else None
        with self._lock:
            if record is not None:
                self._take(record)
                text = text.rpartition(RECORD)[0]
            if record is None or text.strip():
                self._tail.append(text[:MASKED])

    def end(self, done: Completed, *, seconds: float, strays: tuple[str, ...]) -> ProbeEnd:
        """Return all of it as the end of the run, with what went to stderr as the last of its output."""
        with self._lock:
            return ProbeEnd(
                observations=tuple(self._observations.values()),
                at_work=tuple(dict.fromkeys(check for check, _ in self._begun)),
                last_steps=dict(sorted(self._steps.items())),
                timed_out=done.timed_out,
                returncode=done.returncode,
                tail=tuple(_shown((*self._tail, *done.stderr.rstrip("\n").rsplit("\n", TAIL_LINES)[-TAIL_LINES:]))),
                seconds=round(seconds, 3),
                strays=strays,
            )

    def _take(self, record: dict[str, Any]) -> None:
        rank = record["rank"]
        if "step" in record:
            self._steps[rank] = record["step"]
            return
        place = record["check"], rank
        if "began" in record:
            self._begun[place] = None
            return
        self._begun.pop(place, None)
        twice = place in self._observations
        self._observations[place] = Observation(record["check"], rank=rank, error=TWICE) if twice else _seen(record)


def _seen(record: dict[str, Any]) -> Observation:
    return Observation(
        check=record["check"],
        values=record.get("values", {}),
        seconds=float(record["seconds"]),
        rank=record["rank"],
        error=mask(record.get("error", "")),
        trace=tuple(mask(line) for line in record.get("trace", ())),
    )


def _shown(lines: tuple[str, ...]) -> Iterator[str]:
    """Yield the last lines that are not empty, without secrets."""
    for line in lines[-TAIL_LINES:]:
        if line.strip():
            yield mask(line[:MASKED])[:LONGEST]
