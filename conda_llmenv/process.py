"""The one place a program is started: argv lists, own process group, time limit, live lines, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

KEPT_BYTES = 16 << 20
"""What is kept of each stream; older lines are dropped so a chatty build cannot exhaust memory."""

LONGEST_OUTPUT, LONGEST_COMPLAINT = 4 << 20, 64 << 10
"""Bytes of one line of stdout, where programs give answers of a single line, and of stderr; the rest is dropped."""

CHUNK = 64 << 10
"""Bytes read at once, the size of a pipe; no more than the shortest of the limits of a line."""

GRACE_SECONDS = 5.0
"""How long a process group may take to end after SIGTERM before it gets SIGKILL."""


_running: set[subprocess.Popen[bytes]] = set()
"""Programs started by :func:`run` that have not ended, of every thread."""


OnLine = Callable[[str], None]
"""Takes one line, without its end."""


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
    on_line: OnLine | None = None,
    on_output: OnLine | None = None,
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
        on_output: called with each line of stdout in the place of ``on_line``, for what stderr must not be taken for.
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
        start_new_session=True,
    )
    _running.add(process)
    outputs = [
        _Drain(stream, called, longest)
        for stream, called, longest in (
            (process.stdout, on_output or on_line, LONGEST_OUTPUT),
            (process.stderr, on_line, LONGEST_COMPLAINT),
        )
        if stream is not None
    ]
    timed_out = False
    try:
        if stdin is not None and process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.write(stdin.encode("utf-8", "replace"))
            with suppress(BrokenPipeError):  # what was held back is written now
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


def end_group(process: subprocess.Popen[bytes]) -> None:
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

    def __init__(self, stream: IO[bytes], on_line: OnLine | None, longest: int) -> None:
        self._stream = stream
        self._on_line = on_line
        self._longest = longest
        self._kept = bytearray()
        self._dropped = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            for block in _cut(_translated(self._stream.fileno()), self._longest):
                self._keep(block)
                if self._on_line is not None:
                    for line in block.splitlines():
                        self._on_line(line.decode("utf-8", "replace"))

    def _keep(self, block: bytes) -> None:
        self._kept += block
        if len(self._kept) > 2 * KEPT_BYTES:  # not at every block: what is left has to be moved
            del self._kept[:-KEPT_BYTES]
            self._dropped = True

    def join(self) -> None:
        """Wait for the reader to come to the end of the stream, for a while."""
        self._thread.join(GRACE_SECONDS)

    def text(self) -> str:
        """Return the end of what came, in whole lines where the beginning was dropped."""
        kept = bytes(self._kept)
        if self._dropped or len(kept) > KEPT_BYTES:
            kept = kept[-KEPT_BYTES:].partition(b"\n")[2]
        return kept.decode("utf-8", "replace")


def _translated(descriptor: int) -> Iterator[bytes]:
    """Yield what comes, with each of the three ends of a line as a newline."""
    held = b""
    while chunk := os.read(descriptor, CHUNK):
        text = held + chunk
        held = b"\r" if text.endswith(b"\r") else b""  # its newline may be still to come
        yield text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if held:
        yield b"\n"


def _cut(chunks: Iterator[bytes], longest: int) -> Iterator[bytes]:
    """Yield blocks of whole lines without what is beyond the first ``longest`` bytes of each, which is never held."""
    opened = bytearray()
    for chunk in chunks:
        first, newline, more = chunk.partition(b"\n")
        opened += first[: longest - len(opened)]
        if newline:
            whole, end, begun = more.rpartition(b"\n")
            yield bytes(opened) + newline + whole + end
            opened = bytearray(begun)
    if opened:
        yield bytes(opened)
