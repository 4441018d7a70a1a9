"""Ends what a probe left behind: a process that went into a session of its own still carries our mark."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARK = "LLMENV_PROBE"
"""Variable that every process of one probe run inherits, with a value no other run has."""

ROUNDS = 50
"""Times to look again while something is found: what is ended may have started more."""


def end_strays(mark: str) -> tuple[str, ...]:
    """Kill every process of this account that carries the mark; return their command lines."""
    ended: dict[int, str] = {}
    for _ in range(ROUNDS):
        found = dict(_marked(f"{MARK}={mark}".encode()))
        if not found:
            break
        for pid, command in found.items():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            ended[pid] = command
        time.sleep(0.02)
    return tuple(ended.values())


def _marked(entry: bytes) -> Iterator[tuple[int, str]]:
    """Yield the living processes with this entry in their environment; there are none to be seen without /proc."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # another account's, or gone meanwhile
            if entry in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                yield int(folder.name), command[:200]
