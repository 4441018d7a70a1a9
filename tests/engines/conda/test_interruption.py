"""A signal that asks for the end breaks off the connections conda waits at, and nothing else."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conda_llmenv.engines.conda.interruption import connections_ended_by_signals


@contextlib.contextmanager
def handled(number: signal.Signals) -> Iterator[None]:
    """Have a handler for a signal that does nothing."""
    before = signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextlib.contextmanager
def silent_server() -> Iterator[tuple[str, int]]:
    """Accept connections and never say anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[:2]


def waiting(connection: socket.socket, answers: list[bytes]) -> threading.Thread:
    """Wait for an answer in a thread, as conda does."""
    thread = threading.Thread(target=lambda: answers.append(connection.recv(1)), daemon=True)
    thread.start()
    return thread


def open_files() -> int:
    """Return how many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_a_signal_ends_what_was_opened_meanwhile(number: signal.Signals) -> None:
    """The thread that waits for a silent server goes on; a connection from before is none of conda's business."""
    answers: list[bytes] = []
    with silent_server() as address, socket.create_connection(address) as earlier, handled(number):
        with connections_ended_by_signals() as asked, socket.create_connection(address) as connection:
            thread = waiting(connection, answers)
            assert not asked()
            os.kill(os.getpid(), number)
            thread.join(10)
            assert (answers, asked()) == ([b""], True)
        earlier.send(b"still open")


def test_other_signals_change_nothing() -> None:
    """A window that changes its size is no reason to give up."""
    answers: list[bytes] = []
    with (
        silent_server() as address,
        handled(signal.SIGWINCH),
        connections_ended_by_signals() as asked,
        socket.create_connection(address) as connection,
    ):
        thread = waiting(connection, answers)
        os.kill(os.getpid(), signal.SIGWINCH)
        thread.join(0.3)
        assert (thread.is_alive(), asked()) == (True, False)
        connection.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_nothing_is_left_behind() -> None:
    """Neither a thread nor an open file, nor the place where signals are noted."""
    before = open_files(), threading.active_count()
    with connections_ended_by_signals():
        pass
    assert (open_files(), threading.active_count()) == before
    assert signal.set_wakeup_fd(-1) == -1
