"""A real environment with ipykernel and nbclient, made once for all workers of a run, and kernels started from it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.sharedenv import OUTER, SharedEnv

FILE = """\
channels: [conda-forge]
dependencies:
  - python
  - six
  - pip
  - pip:
      - ipykernel
      - nbclient
llmenv:
  verify: {imports: [six, json]}
"""

PACKAGES = ("ipykernel", "nbclient")

KERNEL_ENV = SharedEnv("kernels", FILE, PACKAGES)


@pytest.fixture(scope="session")
def kernel_env(tmp_path_factory: pytest.TempPathFactory, worker_id: str, offline_channel: Path) -> Path:
    """Return a prefix with Python, ipykernel and nbclient, read-only by agreement (see ``own_kernel_env``)."""
    return KERNEL_ENV.made(tmp_path_factory, worker_id, offline_channel)


@pytest.fixture
def own_kernel_env(kernel_env: Path, tmp_path: Path) -> Path:
    """Return a copy of the environment to plant scripts and variables in: hard links, so that it costs little."""
    prefix = tmp_path / "own env"
    subprocess.run(["cp", "-al", str(kernel_env), str(prefix)], check=True)
    state = prefix / "conda-meta" / "state"
    text = state.read_text()
    state.unlink()  # a hard link: the shared environment's must not change with it
    state.write_text(text)
    return prefix


@dataclass
class Client:
    """jupyter_client of an environment, in a process of its own, with a home and folders of its own."""

    prefix: Path
    environ: dict[str, str]

    def script(self, code: str, *arguments: str, cwd: Path | None = None, seconds: float = 120) -> Any:
        """Run code with the environment's Python and return the JSON that its last line holds."""
        done = subprocess.run(
            [str(self.prefix / "bin" / "python"), "-c", code, *arguments],
            env=self.environ,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return {**json.loads(done.stdout.strip().splitlines()[-1]), "stderr": done.stderr}

    def evaluate(self, kernel: str, **expressions: str) -> Any:
        """Start a kernel by its name, ask for the values of Python expressions, and shut it down."""
        return self.script(EVALUATE, kernel, json.dumps(expressions))


EVALUATE = """
import json, sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name=sys.argv[1], startup_timeout=60)
found = {}
try:
    for name, expression in json.loads(sys.argv[2]).items():
        asked = {"it": f"__import__('json').dumps({expression})"}
        reply = client.execute_interactive("", user_expressions=asked, timeout=60)
        it = reply["content"]["user_expressions"]["it"]
        assert it["status"] == "ok", it
        found[name] = json.loads(__import__("ast").literal_eval(it["data"]["text/plain"]))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
print(json.dumps(found))
"""


def client_environ(home: Path, **more: str) -> dict[str, str]:
    """Return the variables of a Jupyter whose folders are all below one home."""
    kept = {name: OUTER[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in OUTER}
    return {**kept, "HOME": str(home), "JUPYTER_PLATFORM_DIRS": "0", **more}


@contextmanager
def no_process_left(prefix: Path) -> Iterator[None]:
    """Fail where a process of an environment outlives the block."""
    before = set(processes_of(prefix))
    yield
    assert not set(processes_of(prefix)) - before


def processes_of(prefix: Path) -> list[str]:
    """Return the living processes that run an environment's Python, as pid and command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if line.startswith(f"{prefix}/bin/") and int(folder.name) != os.getpid():
            found.append(f"{folder.name} {line}")
    return found
