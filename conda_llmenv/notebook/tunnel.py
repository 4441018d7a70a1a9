"""A tunnel that is kept alive: ssh as a child of this process, started anew with growing pauses when it breaks."""

from __future__ import annotations

import http.client
import math
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Protocol

from conda_llmenv.checks.endings import signal_name
from conda_llmenv.errors import LlmenvError
from conda_llmenv.notebook.sockets import LOOPBACK, can_be_seen, listening
from conda_llmenv.notebook.ssh_lines import Route, local_port_failure, tunnel_argv
from conda_llmenv.remote.failures import HostFailed, explain

TIED = Path(__file__).parent / "inside" / "tied.py"

LONGEST_PAUSE = 30.0
"""Seconds; the pauses double from one second on."""

GRACE_SECONDS = 5.0

POLL_SECONDS = 0.1

UP_SECONDS = 120.0
"""How long ssh may take to log in where nobody is asked anything; a server that stops in the middle never answers."""

KEPT_LINES = 50

LONGEST_LINE = 10_000

ANSWER_SECONDS = 10.0

_HOPELESS = re.compile(
    r"IDENTIFICATION HAS CHANGED|Host key verification failed|Permission denied|Too many authentication failures"
    r"|[Bb]ad configuration|Bad owner or permissions"
)
"""What does not go away by itself."""

_REFUSED = re.compile(r"channel [0-9]+: open failed: (.*)")
"""How ssh says that nothing could be reached behind the tunnel."""


class Watcher(Protocol):
    """Is told what becomes of a tunnel."""

    def up(self, *, again: bool) -> None:
        """The tunnel stands, for the first time or once more."""

    def broken(self, reason: str, attempt: int, pause: float) -> None:
        """It broke, and is tried anew after a pause in seconds."""

    def refused(self, reason: str) -> None:
        """The tunnel stands, and nothing could be reached behind it."""


class Tunnel:
    """A forwarded port that is kept.

    Args:
        route: where to.
        local: port on this machine.
        remote: port on the host.
        ask: whether somebody sits at a terminal to answer ssh's questions.
        attempts: how often in a row it is tried anew until it is given up.
        watcher: is told what happens.
    """

    def __init__(self, route: Route, local: int, remote: int, *, ask: bool, attempts: int, watcher: Watcher) -> None:
        self._route = route
        self._local = local
        self._argv = tunnel_argv(route, local, remote, ask=ask)
        self._ask = ask
        self._attempts = attempts
        self._watcher = watcher

    def keep(self) -> NoReturn:
        """Keep the tunnel until it cannot be had any more, or an exception (a signal) ends this.

        Raises:
            LlmenvError: ssh's own reason: at the first try, for what does not go away, or when all attempts failed.
        """
        failed, stood = 0, False
        while True:
            connection = _Connection(self._argv, self._local, own_session=not self._ask, watcher=self._watcher)
            try:
                if connection.comes_up(math.inf if self._ask else UP_SECONDS):
                    self._watcher.up(again=stood)
                    failed, stood = 0, True
                    connection.wait()
            finally:
                connection.stop()
            failure = self._failure(connection)
            if not stood or connection.is_hopeless or failed == self._attempts:
                raise failure
            failed += 1
            pause = min(2.0 ** (failed - 1), LONGEST_PAUSE)
            self._watcher.broken(failure.message, failed, pause)
            time.sleep(pause)

    def _failure(self, connection: _Connection) -> LlmenvError:
        code, host = connection.code, self._route.host
        if code < 0:
            return HostFailed(f"ssh to {host} was ended by {signal_name(-code)}", details=connection.lines)
        return local_port_failure(connection.lines) or explain(host, "", 255, connection.lines)


class _Connection:
    """One run of ssh."""

    def __init__(self, argv: Sequence[str], local: int, *, own_session: bool, watcher: Watcher) -> None:
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._local = local
        self._watcher = watcher
        try:
            self._ssh = subprocess.Popen(
                [sys.executable, "-I", str(TIED), str(os.getpid()), *argv],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=own_session,  # ssh asks at the terminal, which a session of its own would not have
            )
        except OSError as error:
            raise HostFailed(f"ssh cannot be started: {error.strerror}") from error
        self._reader = threading.Thread(target=self._read, name="ssh-stderr", daemon=True)
        self._reader.start()

    @property
    def code(self) -> int:
        """The exit status of ssh, once it has ended."""
        return self._ssh.returncode

    @property
    def is_hopeless(self) -> bool:
        """Whether trying anew would be in vain."""
        return local_port_failure(self.lines) is not None or any(map(_HOPELESS.search, self.lines))

    def comes_up(self, limit: float) -> bool:
        """Return whether ssh came to listen at its local end, which it does when it is logged in."""
        deadline = time.monotonic() + limit
        while self._ssh.poll() is None and time.monotonic() < deadline:
            if self._listens():
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _listens(self) -> bool:
        """Return whether ssh listens; a connection is tried only where the system does not tell who does."""
        if can_be_seen():
            return self._local in {place.port for place in listening(self._ssh.pid)}
        with suppress(OSError), socket.create_connection((LOOPBACK, self._local), ANSWER_SECONDS):
            return True
        return False

    def wait(self) -> None:
        """Wait until ssh ends."""
        self._ssh.wait()

    def stop(self) -> None:
        """End ssh if it still runs, and take its last words."""
        try:
            self._ssh.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._ssh.wait(GRACE_SECONDS)
        finally:
            self._ssh.kill()
            self._ssh.wait()
            self._reader.join(1)

    def _read(self) -> None:
        stream = self._ssh.stderr
        if stream is None:
            return
        with stream:
            while line := stream.readline(LONGEST_LINE):
                self.lines.append(line.rstrip("\r\n"))
                refused = _REFUSED.search(line)
                if refused:
                    self._watcher.refused(refused[1].strip())


def server_answers(port: int) -> bool:
    """Return whether a Jupyter server answers at a local port; its version is told to everybody."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/api")
        answer = connection.getresponse()
        return answer.status == http.client.OK and b'"version"' in answer.read(LONGEST_LINE)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
