"""The index itself: a flat folder, a simple index as files, and the same over HTTP with optional credentials."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.index.artifacts import Artifact


def write_flat(folder: Path, artifacts: Iterable[Artifact]) -> Path:
    """Write artifacts side by side, for ``--find-links``."""
    folder.mkdir(parents=True, exist_ok=True)
    for artifact in artifacts:
        (folder / artifact.file_name).write_bytes(artifact.content)
    return folder


@dataclass
class Index:
    """A running simple index.

    Attributes:
        url: its root without credentials, such as ``http://127.0.0.1:4711/simple``.
        requests: every path asked for, in order.
        wrong_hashes: project names whose pages state another sha256 than the file has.
        hold: while set, files are not answered (to interrupt a download).
        folder: a folder whose files are served below ``/tree/``, such as a bare git repository.
    """

    artifacts: list[Artifact]
    url: str = ""
    user: str | None = None
    password: str | None = None
    requests: list[str] = field(default_factory=list)
    wrong_hashes: set[str] = field(default_factory=set)
    hold: threading.Event = field(default_factory=threading.Event)
    folder: Path | None = None

    @property
    def url_with_credentials(self) -> str:
        """The root with user and password in it."""
        return self.url.replace("://", f"://{self.user}:{self.password}@", 1) if self.user else self.url

    def page(self, project: str) -> str | None:
        """Return the page of a project (PEP 503), or None for one that is not here."""
        files = [one for one in self.artifacts if normalised(one.name) == project]
        if not files:
            return None
        links = [
            f'<a href="../../files/{one.file_name}#sha256={self._stated(one)}">{one.file_name}</a>' for one in files
        ]
        return f"<!DOCTYPE html><html><body>{' '.join(links)}</body></html>"

    def _stated(self, artifact: Artifact) -> str:
        return "0" * 64 if artifact.name in self.wrong_hashes else artifact.sha256

    def file(self, name: str) -> bytes | None:
        """Return a file's content, or None."""
        if self.folder is not None and name.startswith("tree/"):
            path = self.folder / name.removeprefix("tree/")
            return path.read_bytes() if path.is_file() else None
        return next((one.content for one in self.artifacts if one.file_name == name), None)

    def admits(self, header: str | None) -> bool:
        """Whether a request with this Authorization header may read."""
        if self.user is None:
            return True
        expected = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return header == f"Basic {expected}"


def normalised(name: str) -> str:
    """Return a project name as it stands in an index's addresses."""
    return re.sub(r"[-_.]+", "-", name).lower()


@contextmanager
def serve(artifacts: Iterable[Artifact], *, user: str | None = None, password: str | None = None) -> Iterator[Index]:
    """Serve artifacts on a free port of this machine until the block ends."""
    index = Index(list(artifacts), user=user, password=password)
    handler = type("Handler", (_Handler,), {"index": index})
    server = _Server(("127.0.0.1", 0), handler)
    index.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
    thread = threading.Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield index
    finally:
        index.hold.clear()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    index: Index
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: tests read ``requests``."""

    def _answer(self, *, with_body: bool) -> None:
        self.index.requests.append(self.path)
        if not self.index.admits(self.headers.get("Authorization")):
            return self._send(401, b"credentials please", "text/plain", with_body=with_body)
        parts = [part for part in self.path.split("?")[0].split("/") if part]
        if parts[:1] == ["files"]:
            while self.index.hold.is_set():
                threading.Event().wait(0.02)
            content = self.index.file(parts[-1])
            kind = "application/octet-stream"
        elif parts[:1] == ["tree"]:
            content, kind = self.index.file("/".join(parts)), "application/octet-stream"
        else:
            page = self.index.page(parts[-1]) if len(parts) == 2 else self._root()
            content, kind = (html.unescape(page).encode() if page is not None else None), "text/html"
        if content is None:
            return self._send(404, b"not here", "text/plain", with_body=with_body)
        return self._send(200, content, kind, with_body=with_body)

    def _root(self) -> str:
        names = sorted({normalised(one.name) for one in self.index.artifacts})
        return "".join(f'<a href="{name}/">{name}</a>' for name in names)

    def _send(self, status: int, content: bytes, kind: str, *, with_body: bool) -> None:
        tag = f'"{hashlib.sha256(content).hexdigest()}"'
        if status == 200 and self.headers.get("If-None-Match") == tag:
            status, content = 304, b""
        self.send_response(status)
        self.send_header("ETag", tag)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="index"')
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_body and content:
            self.wfile.write(content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about clients that hung up: some tests end them on purpose."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # typeshed's union of address kinds
