"""Who is at work on a prefix, and whether that process still lives; never guessed across hosts or reused pids."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conda_llmenv.model import Owner

_PROC = Path("/proc")
_START_FIELD = 19
"""Index of ``starttime`` among the fields that follow the command name in /proc/PID/stat (proc(5), field 22)."""


def current() -> Owner:
    """Return this process as an owner."""
    pid = os.getpid()
    return Owner(host=socket.gethostname(), pid=pid, started=_start_time(pid) or 0, boot_id=_boot_id())


def is_alive(owner: Owner) -> bool | None:
    """Return whether the owner still runs; None where this machine cannot tell.

    An owner of another host, or of another set of process numbers of this boot (a container), cannot be judged. A pid
    that is taken again by a younger process, or that belongs to an earlier boot of this host, is not the owner.
    """
    here = current()
    if owner.host != here.host:
        return None
    boot, _, numbers = owner.boot_id.partition("/")
    here_boot, _, here_numbers = here.boot_id.partition("/")
    if not boot or not here_boot:
        return None
    if boot != here_boot:
        return False
    if numbers != here_numbers:
        return None
    started = _start_time(owner.pid)
    return started == owner.started if started is not None else _hidden(owner.pid)


def _hidden(pid: int) -> bool | None:
    """Return False if no such process runs, None if /proc hides one of another account (``hidepid``)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return None
    except (ProcessLookupError, OverflowError):
        pass
    return False


def describe(owner: Owner) -> str:
    """Return the owner as a person needs it: ``process 123 on gpu07``."""
    return f"process {owner.pid} on {owner.host}"


def to_json(owner: Owner) -> dict[str, Any]:
    """Return the owner as JSON-ready data."""
    return {"host": owner.host, "pid": owner.pid, "started": owner.started, "boot_id": owner.boot_id}


def from_json(data: Any) -> Owner:
    """Return the owner written by :func:`to_json`.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(data, Mapping):
        raise TypeError("owner is no mapping")
    host, pid, started, boot_id = (data.get(key) for key in ("host", "pid", "started", "boot_id"))
    if not (isinstance(host, str) and isinstance(pid, int) and isinstance(started, int) and isinstance(boot_id, str)):
        raise TypeError("owner lacks host, pid, started or boot_id")
    return Owner(host=host, pid=pid, started=started, boot_id=boot_id)


def _boot_id() -> str:
    """Return the boot's id and, after a slash, the pid namespace: process numbers mean nothing outside of it."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _start_time(pid: int) -> int | None:
    """Return the start of a process in clock ticks since boot; None if there is none (a zombie has ended too)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    if len(fields) <= _START_FIELD or fields[0] in ("Z", "X"):
        return None
    return int(fields[_START_FIELD])
