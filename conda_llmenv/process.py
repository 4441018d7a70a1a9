"""The one place a program is started: argv lists, own process group, time limit, live lines, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

KEPT_LINES = 20_000
"""Lines of each stream kept in memory; older ones are dropped so a chatty build cannot exhaust it."""

GRACE_SECONDS = 5.0
"""How long a process group may take to end after SIGTERM before it gets SIGKILL."""


_running: set[subprocess.Popen[str]] = set()
"""Programs started by :func:`run` that have not ended, of every thread."""


class Completed(Struct, frozen=True):
    """How a program ended; ``returncode`` is negative for a signal, as in :mod:`subprocess`."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    timed_out: bool = False


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float | None = None,
    on_line: Callable[[str], None] | None = None,
    stdin: str | None = None,
    on_end: Callable[[], object] | None = None,
) -> Completed:
    """Run ``argv`` to its end in a process group of its own.

    Args:
        argv: program and arguments; never a shell line.
        env: the whole environment of the program, or None to inherit ours.
        cwd: folder to run in.
        timeout: seconds after which the whole group is ended.
        on_line: called with each line of either stream as it comes (from reader threads).
        stdin: text to feed; without it the program reads from /dev/null.
        on_end: called when the group has ended and before its last output is read: the place to end what left the
            group and still holds its output open.

    Raises:
        OSError: the program cannot be started.
    """
    process = subprocess.Popen(
        list(argv),
        env=dict(env) if env is not None else None,
        cwd=cwd,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    _running.add(process)
    outputs = [_Drain(stream, on_line) for stream in (process.stdout, process.stderr) if stream is not None]
    timed_out = False
    try:
        if stdin is not None and process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.write(stdin)
                process.stdin.close()
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        end_group(process)
        if on_end is not None:
            on_end()
        _running.discard(process)
        for output in outputs:
            output.join()
    stdout, stderr = (output.text() for output in outputs)
    return Completed(tuple(argv), process.returncode, stdout, stderr, timed_out)


def end_running() -> None:
    """End every program that :func:`run` has started in any thread; the threads then see a failed program."""
    ending = tuple(_running)
    for process in ending:
        _signal_group(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while any(process in _running for process in ending) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in ending:
        if process in _running:
            _signal_group(process.pid, signal.SIGKILL)


def end_group(process: subprocess.Popen[str]) -> None:
    """End every process of the group and reap the leader; a finished leader's stragglers are ended too."""
    if process.poll() is None:
        _signal_group(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _Drain:
    """Reads one stream in a thread, keeping its last lines."""

    def __init__(self, stream: IO[str], on_line: Callable[[str], None] | None) -> None:
        self._stream = stream
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            for line in self._stream:
                self._lines.append(line)
                if self._on_line is not None:
                    self._on_line(line.rstrip("\r\n"))

    def join(self) -> None:
        self._thread.join(GRACE_SECONDS)

    def text(self) -> str:
        return "".join(self._lines)
