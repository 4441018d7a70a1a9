"""Reads what a probe prints as it comes: observations between RFC 7464 separators, everything else as its output."""

from __future__ import annotations

import json
import threading
from collections import deque
from typing import Any

from conda_llmenv.model import Observation, ProbeEnd
from conda_llmenv.probes.inside.telling import RECORD
from conda_llmenv.redact import mask

TAIL_LINES = 20
"""Lines of other output that are kept, the last ones: torchrun's summary of a failed launch has some fifteen."""

LONGEST = 400
"""Characters that are kept of such a line."""


class Reading:
    """What one probe has said so far; lines come from two reader threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observations: list[Observation] = []
        self._begun: dict[tuple[str, int], None] = {}
        self._steps: dict[int, str] = {}
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)

    def line(self, text: str) -> None:
        """Take one line of either stream."""
        with self._lock:
            before, separator, record = text.rpartition(RECORD)
            message = _message(record) if separator else None
            if message is None:
                self._tail.append(mask(text)[:LONGEST])
            else:
                self._take(message)
                if before.strip():
                    self._tail.append(mask(before)[:LONGEST])

    def end(self, *, timed_out: bool, returncode: int, seconds: float, strays: tuple[str, ...]) -> ProbeEnd:
        """Return all of it as the end of the run."""
        with self._lock:
            return ProbeEnd(
                observations=tuple(self._observations),
                at_work=tuple(dict.fromkeys(check for check, _ in self._begun)),
                last_steps=dict(sorted(self._steps.items())),
                timed_out=timed_out,
                returncode=returncode,
                tail=tuple(line for line in self._tail if line.strip()),
                seconds=round(seconds, 3),
                strays=strays,
            )

    def _take(self, message: dict[str, Any]) -> None:
        rank = int(message.get("rank", 0))
        if "step" in message:
            self._steps[rank] = str(message["step"])
            return
        check = str(message["check"])
        if message.get("began"):
            self._begun[check, rank] = None
            return
        self._begun.pop((check, rank), None)
        self._observations.append(
            Observation(
                check=check,
                values=message.get("values", {}),
                seconds=float(message.get("seconds", 0.0)),
                rank=rank,
                error=mask(str(message.get("error", ""))),
                trace=tuple(mask(str(line)) for line in message.get("trace", ())),
            )
        )


def _message(record: str) -> dict[str, Any] | None:
    """Return one of our messages, or None for anything else: a package may print the separator too."""
    try:
        message = json.loads(record)
    except (ValueError, RecursionError):
        return None
    known = isinstance(message, dict) and ("check" in message or "step" in message)
    return message if known else None
