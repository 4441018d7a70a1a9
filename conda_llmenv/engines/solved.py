"""The end of a solve, the same for every engine: records in order, what is odd about them told, the stage closed."""

from __future__ import annotations

import time
from collections.abc import Iterable

from conda_llmenv.engines.elsewhere import notice_elsewhere
from conda_llmenv.model import Record, Solution
from conda_llmenv.ports import Reporter


def solution(records: Iterable[Record], engine: str, started: float, reporter: Reporter) -> Solution:
    """Return what an engine chose, and tell of packages that come from elsewhere than their channel.

    Args:
        records: chosen, with addresses that can be fetched.
        engine: its name.
        started: what :func:`time.monotonic` was when the solve began.
        reporter: who is told.
    """
    ordered = tuple(sorted(records, key=lambda record: record.name))
    notice_elsewhere(ordered, reporter)
    reporter.finish("solve", f"{len(ordered)} packages")
    return Solution(ordered, engine, round(time.monotonic() - started, 3))
