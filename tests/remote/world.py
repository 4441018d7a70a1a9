"""A laptop with a Jupyter client, hosts that it reaches by ssh, and an environment there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from conda_llmenv.process import run
from conda_llmenv.remote.registering import RemoteKernel, register_remote
from tests.remote.servers import Servers

ROOT = Path(__file__).parent.parent.parent

GROUP = "jupyter_client.kernel_provisioners"

GONE_SECONDS = 20.0


class Client:
    """A Jupyter client in a process of its own (``client.py``)."""

    def __init__(self, environ: Mapping[str, str], within: Sequence[str] = ()) -> None:
        argv = [*within, sys.executable, str(Path(__file__).parent / "client.py")]
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(environ), text=True
        )

    def ask(self, request: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([request, arguments]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the client has died"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def text(self, code: str) -> str:
        """Run code in the kernel and return what it prints."""
        answer = self.ask("execute", code=code)
        assert answer["status"] == "ok", answer
        return str(answer["text"]).strip()

    def close(self) -> None:
        """Kill it, if it still runs."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


class World:
    """Everything that a test of remote kernels needs.

    Args:
        folder: where all of it is.
        servers: the hosts.
        prefix: the environment on them.
    """

    def __init__(self, folder: Path, servers: Servers, prefix: Path) -> None:
        self.folder = folder
        self.servers = servers
        self.prefix = prefix
        self.kernels = folder / "jupyter" / "kernels"
        self.clients: list[Client] = []
        entries = folder / "entries" / "entries-1.dist-info"  # what installing the package would bring
        entries.mkdir(parents=True)
        (entries / "METADATA").write_text("Metadata-Version: 2.1\nName: entries\nVersion: 1\n")
        toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
        project = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        lines = [f"{name} = {value}" for name, value in project["entry-points"][GROUP].items()]
        (entries / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
        home = folder / "laptop"
        home.mkdir()
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON", "JPY"))},
            "HOME": str(home),
            "PATH": f"{servers.bin}:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT}:{folder / 'entries'}",
            "JUPYTER_PATH": str(folder / "jupyter"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "run"),
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "IPYTHONDIR": str(home / "ipython"),
            "SECRET_OF_THE_LAPTOP": "hunter2",
        }

    def register(self, host: str, *, prefix: Path | None = None, **options: Any) -> RemoteKernel:
        """Register a kernel."""
        return register_remote(host, str(prefix or self.prefix), **{"run": run, "install": self.install, **options})

    def hasten(self, name: str) -> None:
        """Let a kernel notice a lost connection in a tenth of the time."""
        path = self.kernels / name / "kernel.json"
        spec = json.loads(path.read_text())
        spec["metadata"]["kernel_provisioner"]["config"]["keepalive"] = 1
        path.write_text(json.dumps(spec))

    def install(self, folder: Path, name: str) -> Path:
        """Put a kernelspec in place."""
        shutil.copytree(folder, self.kernels / name, dirs_exist_ok=True)
        return self.kernels / name

    def llmenv(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the program on the laptop."""
        argv = [sys.executable, "-m", "conda_llmenv", *arguments]
        return subprocess.run(argv, env=self.environ, capture_output=True, text=True, check=False, timeout=60)

    def client(self, within: Sequence[str] = (), **environ: str) -> Client:
        """Start a client."""
        client = Client({**self.environ, **environ}, within)
        self.clients.append(client)
        return client

    def left(self, *pids: int) -> list[str]:
        """Return what runs of kernels, ssh clients and ssh sessions, and of some processes."""
        servers = {process.pid for process in self.servers.running.values()}
        clients = {client.process.pid for client in self.clients}
        found = []
        for process in psutil.process_iter(["pid", "ppid", "cmdline", "status"]):
            info = process.info
            line = " ".join(info["cmdline"] or ())
            ours = str(self.folder) in line or info["ppid"] in servers or info["pid"] in pids
            if ours and info["pid"] not in servers | clients and info["status"] != psutil.STATUS_ZOMBIE:
                found.append(f"{info['pid']}: {line[:200]}")
        return found

    def wait_until_gone(self, *pids: int, seconds: float = GONE_SECONDS) -> None:
        """Wait until nothing runs any more, these processes neither, and fail with what does."""
        deadline = time.monotonic() + seconds
        while (left := self.left(*pids)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not left


def started(client: Client, kernel: str) -> dict[str, Any]:
    """Start a kernel, and return where it is reached, its process, and its folder on the other host."""
    answer = client.ask("start", kernel=kernel)
    assert "error" not in answer, answer
    told = client.text("import os, ipykernel\nprint(os.getpid(), os.path.dirname(ipykernel.get_connection_file()))")
    pid, folder = told.split()
    assert re.fullmatch(r"/tmp/llmenv-[0-9a-f]{16}", folder)
    return {**answer, "pid": int(pid), "folder": Path(folder)}


def wait_for_end(*pids: int, seconds: float = 30) -> None:
    """Wait for processes to end."""
    deadline = time.monotonic() + seconds
    while left := [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
