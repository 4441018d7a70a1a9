"""Ends connections when a signal asks the process to end: conda waits for answers in threads that hear of no signal."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""Signals after which nobody waits for an answer any more."""

POLL_SECONDS = 0.05
"""How often connections are looked for that were opened since, to try again."""


@contextlib.contextmanager
def connections_ended_by_signals() -> Iterator[Callable[[], bool]]:
    """Break off the connections opened in the block once a signal arrives that asks for the end.

    Handlers of signals are left alone. Only the main thread can do this; elsewhere nothing is watched.

    Yields:
        Tells whether such a signal has arrived.
    """
    asked, over = threading.Event(), threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # what Python asks of a wake-up file
    watcher = threading.Thread(target=_watch, args=(reader, _sockets(), asked, over), daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield asked.is_set
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(writer)  # which ends the watcher's reading
        watcher.join()
        os.close(reader)


def _watch(reader: int, others: frozenset[int], asked: threading.Event, over: threading.Event) -> None:
    while numbers := os.read(reader, 64):
        if ENDING.intersection(numbers):
            asked.set()
            while not over.wait(POLL_SECONDS):
                for number in _sockets() - others:
                    _break_off(number)
            return


def _sockets() -> frozenset[int]:
    """Return the file numbers of this process's sockets."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            if str(entry.readlink()).startswith("socket:"):
                found.add(int(entry.name))
    return frozenset(found)


def _break_off(number: int) -> None:
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(number)) as connection:
        if connection.family in {socket.AF_INET, socket.AF_INET6}:
            connection.shutdown(socket.SHUT_RDWR)
