"""A local HTTP server over a channel folder, with credentials and faults to order."""

from __future__ import annotations

import base64
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class Fault:
    """What goes wrong with the requests whose path matches.

    Attributes:
        path: pattern of the path below the channel root, such as ``*.conda``.
        status: answer with this status instead of the file.
        cut: send only so many bytes of the file, then close, although the whole length was announced.
        flip: change one byte in the middle; the size stays.
        stall: seconds of silence before the first byte.
        pace: seconds between pieces.
        piece: bytes of a piece.
        headers: headers of the answer, over those it would have.
        reset: end the connection without an answer.
        start: answer with 206 and the file from this byte on, whatever was asked for.
        times: how many requests it hits; None for every one.
    """

    path: str
    status: int | None = None
    cut: int | None = None
    flip: bool = False
    stall: float = 0.0
    pace: float = 0.0
    piece: int = 65536
    headers: Mapping[str, str] = field(default_factory=dict)
    reset: bool = False
    start: int | None = None
    times: int | None = None


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    authorization: str | None
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class ChannelServer:
    """A running server.

    Attributes:
        root: folder that is served.
        token: conda token every path has to start with (``/t/TOKEN``), or None.
        login: ``user:password`` of basic authentication, or None.
        faults: consulted in order; the first that matches applies.
        requests: every request so far.
    """

    root: Path
    token: str | None = None
    login: str | None = None
    faults: list[Fault] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    port: int = 0

    @property
    def host(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.port}"

    def url(self, channel: str = "conda-forge") -> str:
        """Return the address of a channel with the credentials it takes."""
        login = f"{self.login}@" if self.login else ""
        token = f"/t/{self.token}" if self.token else ""
        return f"http://{login}127.0.0.1:{self.port}{token}/{channel}"

    def asked_for(self, pattern: str) -> list[Request]:
        """Return the requests whose path matches."""
        return [request for request in self.requests if fnmatch(request.path, f"*{pattern}")]

    def fault_for(self, path: str) -> Fault | None:
        """Return the fault to apply to a request, using up one of its times."""
        for fault in self.faults:
            if fnmatch(path, f"*{fault.path}") and fault.times != 0:
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


@contextlib.contextmanager
def serve(root: Path, *, token: str | None = None, login: str | None = None) -> Iterator[ChannelServer]:
    """Serve a folder on a free port of this machine for as long as the context lasts."""
    channel = ChannelServer(root, token, login)
    with _Server(("127.0.0.1", 0), _handler(channel)) as server:
        channel.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield channel
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are what the tests are about."""


def _handler(channel: ChannelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        server_state = channel

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: ChannelServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Keep the terminal clean; requests are in the log of the server."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        fault = self.server_state.fault_for(path) or Fault("")
        status, file = self._find(path)
        status = fault.status or status
        headers = dict(self.headers.items())
        request = Request(self.command, path, self.headers.get("Authorization"), status, headers)
        self.server_state.requests.append(request)
        if fault.stall:
            time.sleep(fault.stall)
        if fault.reset:
            self._reset()
            return
        if status != 200 or file is None:
            self._refuse(status, fault.headers)
            return
        content = file.read_bytes()[fault.start or 0 :]
        self.send_response(200 if fault.start is None else 206)
        for name, value in ({"Content-Length": str(len(content))} | dict(fault.headers)).items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self._send(_damaged(content, fault), fault)

    def _find(self, path: str) -> tuple[int, Path | None]:
        state = self.server_state
        if state.login is not None:
            expected = f"Basic {base64.b64encode(state.login.encode()).decode()}"
            if self.headers.get("Authorization") != expected:
                return 401, None
        if state.token is not None:
            before, _, path = path.partition(f"/t/{state.token}/")
            if before or not path:
                return 403, None
        file = (state.root / path.lstrip("/")).resolve()
        if not file.is_relative_to(state.root.resolve()) or not file.is_file():
            return 404, None
        return 200, file

    def _refuse(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="channel"')
        for name, value in ({"Content-Length": "0"} | dict(headers)).items():
            self.send_header(name, value)
        self.end_headers()

    def _reset(self) -> None:
        """Close with RST instead of FIN, as a firewall does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _send(self, content: bytes, fault: Fault) -> None:
        for start in range(0, len(content), fault.piece):
            self.wfile.write(content[start : start + fault.piece])
            time.sleep(fault.pace)
        if fault.cut is not None:
            self.wfile.flush()
            self.close_connection = True


def _damaged(content: bytes, fault: Fault) -> bytes:
    if fault.flip:
        middle = len(content) // 2
        content = content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
    return content if fault.cut is None else content[: fault.cut]
