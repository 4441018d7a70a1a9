"""Leaving a process that has used py-rattler: its threads first, the interpreter after them.

A worker thread of the library lets go of the Python objects of a finished call a moment later, for which it takes the
interpreter's lock; one that gives it back while the interpreter is taken down aborts the process, exit code and all.
Our own program skips that way out; inside conda, the process is conda's.
"""

from __future__ import annotations

import atexit
import functools
import threading
import time
from pathlib import Path

LONGEST = 2.0
"""Seconds to wait at most."""

INTERVAL = 0.01
CALM = 2
"""Looks in a row at which every other thread has to be asleep."""


@functools.cache
def leave_in_order() -> None:
    """See to it that the interpreter waits for the library's threads before it is taken down."""
    atexit.register(wait_for_threads)


def wait_for_threads() -> None:
    """Give the lock away until no other thread has anything left to do."""
    until, calm = time.monotonic() + LONGEST, 0
    while calm < CALM and time.monotonic() < until:
        time.sleep(INTERVAL)
        calm = calm + 1 if all_asleep() else 0


def all_asleep() -> bool:
    """Return whether no other thread of this process is running, or waits for a processor or a disk."""
    own = str(threading.get_native_id())
    try:
        return all(_is_asleep(thread) for thread in _threads() if thread != own)
    except OSError:
        return True  # no such table here: the pause has to do


def _threads() -> list[str]:
    return [entry.name for entry in Path("/proc/self/task").iterdir()]


def _is_asleep(thread: str) -> bool:
    try:
        facts = Path("/proc/self/task", thread, "stat").read_bytes()
        return facts.rpartition(b")")[2].split()[0] == b"S"
    except OSError:
        return True  # it has ended
