"""One connection to another host: ssh, the supervisor at its other end, and what the two have said."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from conda_llmenv.remote.failures import SSH_FAILED
from conda_llmenv.remote.inside.supervise import RECORD

KEPT_LINES = 50
"""Lines of ssh and of the kernel that are kept for messages."""

GRACE_SECONDS = 3.0
"""How long ssh may take to end by itself: the supervisor gives the kernel two of these."""

JOIN_SECONDS = 1.0
"""How long the rest of what an ended ssh wrote may take to be read."""

_TAKEN = re.compile(r"cannot listen to (?:port: |path: )(\S+)")
"""What ssh says when it cannot listen at one of the local ends."""


class Session:
    """ssh and the supervisor that it runs; threads read and write, so that any event loop may look at any time.

    Closing standard input is what ends the remote side; the operating system does that too when this process is killed.

    Args:
        argv: the ssh command.
        opening: what the other side reads first.
        beat: seconds after which an empty line tells the other side that this one is there.
        on_output: called with each piece of text that the kernel prints outside of its channels.
    """

    def __init__(self, argv: Sequence[str], opening: str, beat: float, on_output: Callable[[str], None]) -> None:
        self.listening = False
        self.code: int | None = None
        self.refusal = ""
        self.output: deque[str] = deque(maxlen=KEPT_LINES)
        self.complaints: deque[str] = deque(maxlen=KEPT_LINES)
        self._beat = beat
        self._on_output = on_output
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._queue.put(opening.encode())
        self._ssh = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C in the terminal of a server is not meant for ssh
        )
        work = ((self._write, self._ssh.stdin), (self._read, self._ssh.stdout), (self._collect, self._ssh.stderr))
        self._threads = [threading.Thread(target=does, args=(stream,), daemon=True) for does, stream in work]
        for thread in self._threads:
            thread.start()

    def send(self, message: Mapping[str, Any]) -> None:
        """Queue a message; a stalled connection holds it up, and nobody else."""
        self._queue.put(json.dumps(message).encode() + b"\n")

    def poll(self) -> int | None:
        """Return None while the kernel runs, else its exit code, or ssh's where the connection ended first."""
        if self.code is None and self._ssh.poll() is not None:
            self._threads[1].join(JOIN_SECONDS)  # the last event may still be on its way through the pipe
            if self.code is None:
                return self._ssh.returncode or SSH_FAILED
        return self.code

    @property
    def status(self) -> int | None:
        """The exit status of ssh; None while it runs."""
        return self._ssh.poll()

    def taken(self) -> list[str]:
        """Return the local ports, or sockets, that ssh could not listen at."""
        return [found.group(1).rstrip(".") for line in self.complaints if (found := _TAKEN.search(line))]

    def close(self, grace: float = GRACE_SECONDS) -> None:
        """Let the other side go, which ends a kernel that still runs, and ssh; takes ``grace`` and a second at most."""
        self._queue.put(None)
        until = time.monotonic() + grace
        while self.code is None and self._ssh.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        if self._ssh.poll() is None:  # the kernel is gone, or out of reach; open tunnels are all that keeps it
            self._ssh.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._ssh.wait(1)
        with suppress(ProcessLookupError):
            os.killpg(self._ssh.pid, signal.SIGKILL)  # the ssh to a jump host, too, if it is stuck
        self._ssh.wait()
        for thread in self._threads[1:]:
            thread.join(JOIN_SECONDS)

    def _write(self, pipe: IO[bytes]) -> None:
        with pipe as stdin, suppress(OSError):
            while True:
                try:
                    data = self._queue.get(timeout=self._beat)
                except queue.Empty:
                    data = b"\n"
                if data is None:
                    return
                while data:  # unbuffered: a write may be partial
                    data = data[stdin.write(data) :]

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe as stdout:
            for line in stdout:
                _, separator, text = line.rpartition(RECORD)
                if separator:
                    with suppress(ValueError, KeyError, TypeError):  # the other host's shell may print anything
                        self._hear(json.loads(text))

    def _hear(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "listening":
            self.listening = True
        elif kind == "exited":
            self.code = int(event["code"])
        elif kind == "refused":
            self.refusal = str(event["reason"])
        elif kind == "output":
            self.output.extend(event["text"].splitlines())
            self._on_output(event["text"])

    def _collect(self, pipe: IO[bytes]) -> None:
        with pipe as stderr:
            for line in stderr:
                self.complaints.append(line.decode("utf-8", "replace").rstrip())
