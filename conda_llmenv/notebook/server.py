"""One Jupyter server as a child of this process: started, looked at from outside, and ended with its kernels."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from conda_llmenv.checks.endings import signal_name
from conda_llmenv.errors import LlmenvError
from conda_llmenv.notebook.found import SERVE, FoundServer
from conda_llmenv.notebook.sockets import LOOPBACK, can_be_seen, listening

START_SECONDS = 180.0
"""How long a server may take until it answers; hundreds of extensions on a network file system are slow to load."""

GRACE_SECONDS = 20.0
"""How long a server may take to end; it gives each kernel some seconds, and ends itself after 15."""

ANSWER_SECONDS = 10.0

PAUSE_SECONDS = 0.1

KEPT_LINES = 200

LONGEST_LINE = 10_000

CLOSED = frozenset({http.client.FOUND, http.client.UNAUTHORIZED, http.client.FORBIDDEN})
"""How a server that wants a token first answers; mostly it sends the browser to the login."""

_GUARDED = "/files/llmenv"
"""Needs a login whether or not there is such a file; asked from a page of the server, it leaves no warning."""


class ServerFailed(LlmenvError):
    """The Jupyter server could not be started, ended by itself, or is not what it must be."""

    code = "server"


class Server:
    """A running server. Its standard input is a pipe from us: the token comes through it, and its end ends the server.

    Args:
        found: which one.
        port: where it is to listen, on the loopback address alone.
        token: the only thing that opens it.
        arguments: further options of the server's.
        environ: its variables.
        on_line: called with each line of its log, from a thread.

    Raises:
        ServerFailed: it cannot be started.
    """

    def __init__(
        self,
        found: FoundServer,
        *,
        port: int,
        token: str,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        on_line: Callable[[str], None],
    ) -> None:
        self._port = port
        self._token = token
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        argv = [str(found.python), "-I", str(SERVE), "run", found.name, str(port), *arguments]
        try:
            self._process = subprocess.Popen(
                argv,
                env=dict(environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # Ctrl-C in the terminal is for us alone
            )
        except OSError as error:
            raise ServerFailed(f"{found.python} cannot be started: {error.strerror}") from error
        self._reader = threading.Thread(target=self._read, name="server-log", daemon=True)
        self._reader.start()
        self._write(f"{token}\n")

    @property
    def pid(self) -> int:
        """The process of the server."""
        return self._process.pid

    def wait_until_ready(self, limit: float = START_SECONDS) -> None:
        """Return when the server answers, to the token alone and on this machine alone.

        Raises:
            ServerFailed: it ended, takes too long, or can be reached in another way.
        """
        deadline = time.monotonic() + limit
        while not self._is_listening() or self._status(self._token, "/api/status") != http.client.OK:
            if self._process.poll() is not None:
                raise self.ended()
            if time.monotonic() > deadline:
                raise ServerFailed(f"the server did not answer within {limit:g} s", details=self.last_lines())
            time.sleep(PAUSE_SECONDS)
        self._check_sockets()
        if self._status(None, _GUARDED) not in CLOSED:
            raise ServerFailed(
                "the server answers without a token, so it is stopped",
                hint="see which file of `jupyter --paths` makes it so",
            )

    def wait(self) -> int:
        """Wait until the server ends by itself; return its exit status."""
        code = self._process.wait()
        self._reader.join(1)
        return code

    def stop(self) -> None:
        """End the server and its kernels: first asked, then forced; an impatient second signal forces at once."""
        try:
            self._ask_to_end()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS)
        finally:
            self._force()
            self._reader.join(1)

    def ended(self) -> ServerFailed:
        """Return the failure of a server that has ended by itself, with its last words."""
        self._reader.join(1)
        code = self._process.returncode
        how = f"by {signal_name(-code)}" if code < 0 else f"with status {code}"
        return ServerFailed(f"the server ended {how}", details=self.last_lines())

    def last_lines(self, count: int = 15) -> tuple[str, ...]:
        """Return the last lines of its log."""
        return tuple(self._lines)[-count:]

    def _write(self, text: str) -> None:
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(text)
                self._process.stdin.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        with stream:
            while line := stream.readline(LONGEST_LINE):
                shown = line.rstrip("\n").replace(self._token, "***")
                self._lines.append(shown)
                self._on_line(shown)

    def _is_listening(self) -> bool:
        """Return whether it is this process that takes connections at the port; the token is sent to no other."""
        return not can_be_seen() or self._port in {place.port for place in listening(self.pid)}

    def _check_sockets(self) -> None:
        open_to_all = [place for place in listening(self.pid) if not place.is_local]
        if open_to_all:
            raise ServerFailed(
                "the server can be reached from other machines, so it is stopped",
                details=[f"it listens at {place.address}, port {place.port}" for place in open_to_all],
                hint="see which option, or which file of `jupyter --paths`, makes it so",
            )

    def _status(self, token: str | None, path: str) -> int | None:
        """Return the status of an answer, or None without one; no proxy is asked."""
        connection = http.client.HTTPConnection(LOOPBACK, self._port, timeout=ANSWER_SECONDS)
        asked = {"Authorization": f"token {token}"} if token else {"Referer": f"http://{LOOPBACK}:{self._port}/"}
        try:
            connection.request("GET", path, headers=asked)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def _ask_to_end(self) -> None:
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.terminate()

    def _force(self) -> None:
        """Kill the server if it is still there, and then what it had started: kernels and terminals lead sessions."""
        if self._process.poll() is not None:
            return
        groups = [self.pid, *_children(self.pid)]
        self._process.kill()
        self._process.wait()
        for group in groups:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    """Return the processes that a process has started itself and that still run."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, file.read_text(encoding="ascii").split())
    return found
