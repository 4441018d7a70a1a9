"""Reads the small files of one machine, or of a recorded one, and asks its programs without waiting for ever."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

RECORDED = "run/llmenv"
"""Folder, below the root of a recorded machine, of what has no file on a real one."""

LARGEST = 4 * 2**20
"""Bytes that are read of a file or of what a program prints; what is meant to be read is far smaller."""

CHUNK = 2**16


LAST_SECONDS = 1.0
"""How long a killed program may take to go."""


LOOK_SECONDS = 0.2
"""How often a silent program is looked after."""


class Machine:
    """The machine that is looked at.

    Attributes:
        root: ``/``, or the folder of a recorded machine.
        prefix: path of the environment.
        live: it is this machine.
        kept: what took long to find out and serves several checks.
    """

    def __init__(self, root: str, prefix: str) -> None:
        self.root = root
        self.prefix = prefix
        self.live = os.path.abspath(root) == "/"
        self.kept: dict[str, Any] = {}

    def path(self, relative: str) -> str:
        """Return a path below the root."""
        return os.path.join(self.root, relative)

    def text(self, relative: str) -> str | None:
        """Return a small file below the root, or None if it cannot be read."""
        try:
            with open(self.path(relative), "rb") as file:
                return file.read(LARGEST).decode("utf-8", "replace")
        except OSError:
            return None

    def names(self, relative: str) -> list[str]:
        """Return what is in a folder below the root, sorted; nothing if it cannot be read."""
        try:
            return sorted(os.listdir(self.path(relative)))
        except OSError:
            return []

    def once(self, key: str, find: Callable[[Machine], Any]) -> Any:
        """Return what ``find`` returns for this machine, found out once."""
        if key not in self.kept:
            self.kept[key] = find(self)
        return self.kept[key]


class Answer:
    """What a program printed; ``problem`` says why there is nothing to rely on, and is empty otherwise."""

    def __init__(self, stdout: str = "", status: int = 0, problem: str = "") -> None:
        self.stdout = stdout
        self.status = status
        self.problem = problem


def ask(argv: Sequence[str], seconds: float, environ: Mapping[str, str] | None = None) -> Answer:
    """Run a program and return its :class:`Answer`; one that does not end is killed, with its process group.

    A program that is stuck inside the driver does not even die of SIGKILL, so nothing here waits long for that.
    """
    try:
        child = subprocess.Popen(
            argv,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Answer(problem=f"cannot be started: {error.strerror or error}")
    out, problem = _read(child, seconds)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(0 if problem else LAST_SECONDS)
    if child.returncode is None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(LAST_SECONDS)
    return Answer(out.decode("utf-8", "replace"), child.returncode or 0, problem)


def _read(child: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, str]:
    """Return what a program prints until it has ended, and why that was not waited for.

    A child that it left behind may keep its output open, so the end of the program itself counts.
    """
    deadline = time.monotonic() + seconds
    printed = b""
    with child.stdout as stream:  # type: ignore[union-attr]  # asked for with PIPE
        while len(printed) <= LARGEST:
            ended = child.poll() is not None
            if select.select([stream], [], [], LOOK_SECONDS)[0]:
                chunk = os.read(stream.fileno(), CHUNK)
                printed += chunk
                ended = not chunk
            if ended:
                return printed, ""
            if time.monotonic() > deadline:
                return printed, f"gave no answer within {seconds:.0f} s"
    return printed, "prints without end"
