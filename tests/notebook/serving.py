"""A running ``llmenv notebook``, asked and looked at from outside: its REST interface, its kernels, its processes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from websockets.sync.client import connect

from tests.program import Program

SECONDS = 60


class Running:
    """The program as it serves.

    Args:
        process: llmenv itself.
        told: the result of its payload.
    """

    def __init__(self, process: subprocess.Popen[str], told: dict[str, Any], errors: Path) -> None:
        self.process = process
        self.told = told
        self.errors = errors
        self.port = int(told["port"])
        self.token = str(told["token"])

    def rest(self, method: str, path: str, body: Any = None, *, port: int | None = None, token: str = "") -> Any:
        """Ask the server and return its answer, read as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=SECONDS)
        try:
            headers = {"Authorization": f"token {token or self.token}"}
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status < 400, (answer.status, content)
            return json.loads(content) if content else None
        finally:
            connection.close()

    def start_kernel(self, name: str = "python3", *, port: int | None = None) -> str:
        """Start a kernel and return its name at the server."""
        return str(self.rest("POST", "/api/kernels", {"name": name}, port=port)["id"])

    def execute(self, kernel: str, code: str, *, port: int | None = None) -> str:
        """Run code in a kernel over its websocket and return what it printed."""
        with self.channels(kernel, port=port) as ask:
            return ask(code)

    @contextmanager
    def channels(self, kernel: str, *, port: int | None = None) -> Iterator[Callable[[str], str]]:
        """Hold a websocket to a kernel open; what is handed out runs code and returns what it printed."""
        url = f"ws://127.0.0.1:{port or self.port}/api/kernels/{kernel}/channels"
        headers = {"Authorization": f"token {self.token}"}
        with connect(url, additional_headers=headers, open_timeout=SECONDS, close_timeout=0.2, proxy=None) as socket:

            def ask(code: str) -> str:
                identifier = uuid.uuid4().hex
                socket.send(json.dumps(_request(identifier, code)))
                printed = ""
                while True:
                    message = json.loads(socket.recv(timeout=SECONDS))
                    if message["parent_header"].get("msg_id") != identifier:
                        continue
                    if message["msg_type"] == "stream":
                        printed += message["content"]["text"]
                    elif message["msg_type"] == "execute_reply":
                        reply = message["content"]
                        assert reply["status"] == "ok", reply
                    elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                        return printed

            yield ask

    def family(self) -> list[psutil.Process]:
        """Return llmenv, the server and everything they have started."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def end(self, number: int = signal.SIGKILL) -> int:
        """Send a signal to llmenv alone, as a job's end or a closed terminal does, and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(SECONDS)

    def log(self) -> str:
        """Return what it wrote to stderr so far."""
        return self.errors.read_text(encoding="utf-8")


def _request(identifier: str, code: str) -> dict[str, Any]:
    header = {"msg_id": identifier, "username": "", "session": uuid.uuid4().hex, "msg_type": "execute_request",
              "version": "5.3", "date": ""}  # fmt: skip
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    return {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}


@contextmanager
def serving(llmenv: Program, *arguments: str | Path, **variables: str) -> Iterator[Running]:
    """Start the program and hand it out when it serves; nothing of it is left afterwards."""
    errors = llmenv.cwd / f"errors-{uuid.uuid4().hex}"
    with errors.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [*llmenv.argv, "notebook", "--json", *map(str, arguments)],
            cwd=llmenv.cwd, env={**llmenv.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=stream, text=True, start_new_session=True,
        )  # fmt: skip
    family: list[psutil.Process] = []
    try:
        running = Running(process, document(process, errors)["result"], errors)
        yield running
        if process.poll() is None:
            family = running.family()
    finally:
        if process.poll() is None:
            with suppress(psutil.NoSuchProcess):
                family = family or psutil.Process(process.pid).children(recursive=True)
            process.terminate()
        process.wait(SECONDS)
        if process.stdout is not None:
            process.stdout.close()
        for one in family:
            with suppress(psutil.NoSuchProcess):
                one.kill()


def document(process: subprocess.Popen[str], errors: Path) -> Any:
    """Return the JSON document that a program prints while it goes on."""
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if line == "}\n":
            return json.loads("".join(lines))
    raise AssertionError(f"ended with {process.wait()} before it served: {''.join(lines)}\n{errors.read_text()}")


def wait_until_gone(processes: list[psutil.Process], seconds: float = 20) -> list[str]:
    """Return the command lines of those that are still there after a while."""
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return [" ".join(one.cmdline()) for one in alive if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def command_lines() -> Iterator[str]:
    """Yield the command line of every process of the machine."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield path.read_bytes().replace(b"\0", b" ").decode(errors="replace")


def eventually(look: Callable[[], object], seconds: float = 20) -> bool:
    """Return whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if look():
            return True
        time.sleep(0.05)
    return False


def isolated(folder: Path) -> dict[str, str]:
    """Return variables that keep Jupyter's files in a folder."""
    names = ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
    return {name: os.fspath(folder / name.lower()) for name in names}
