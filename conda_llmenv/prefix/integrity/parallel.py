"""Reading many files at once: checksums release Python's lock, and a network file system makes one wait."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from conda_llmenv.prefix.integrity.model import Entry

Result = TypeVar("Result")

MOST_READERS = 8
"""Threads; more only wait for Python's lock."""


def readers() -> int:
    """Return how many files are read at once: a few more than cores, since some wait for the disk."""
    return min(MOST_READERS, len(os.sched_getaffinity(0)) + 2)


def read_all(entries: Iterable[Entry], read: Callable[[Entry], Result]) -> dict[str, Result]:
    """Call ``read`` with each entry in several threads and return the results by path.

    The largest files come first, so that none is begun when all the others are done. The first exception ends it.
    """
    waiting = deque(sorted(entries, key=lambda entry: entry.size))
    results: dict[str, Result] = {}

    def work() -> None:
        """Read entries until none is waiting."""
        while True:
            try:
                entry = waiting.pop()
            except IndexError:
                return
            results[entry.path] = read(entry)

    with ThreadPoolExecutor(readers()) as pool:
        try:
            for running in [pool.submit(work) for _ in range(readers())]:
                running.result()
        finally:
            waiting.clear()  # on an error or Ctrl-C the others stop after the file at hand
    return results
