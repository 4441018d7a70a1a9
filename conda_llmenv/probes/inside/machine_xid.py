"""Observes the errors that the NVIDIA driver wrote to the kernel log: its Xid messages."""

from __future__ import annotations

import os
import re
import shutil
import time
from typing import Any

from .machine_files import RECORDED, Machine, ask
from .machine_gpu import module_version

KMSG = "/dev/kmsg"
RECORD_BYTES = 8192
"""Largest record of ``/dev/kmsg`` (CONSOLE_EXT_LOG_MAX of the kernel)."""

DMESG_SECONDS = 5.0
READ_SECONDS = 5.0
"""Time to read the log; a machine that logs without pause would never come to its end."""

XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]+)\): (\d+),?\s*(.*)")
PREFIX = re.compile(r"\d+,\d+,(\d+),[^;]*;|\s*(?:<\d+>)?\[\s*(\d+\.\d+)\]")
"""Microseconds since boot in a record of ``/dev/kmsg``, seconds in a line of ``dmesg``."""

LONGEST = 160
KEPT = 100


def xid(machine: Machine) -> dict[str, Any]:
    """Return each (card, code) with its count, age of the last in seconds and last text; why the log is unread."""
    lines, unread = _log(machine)
    uptime = _uptime(machine)
    events: dict[tuple[str, int], dict[str, Any]] = {}
    for line in lines:
        found = XID.search(line)
        if found is not None:
            bus, code, text = found.groups()
            event = events.setdefault((bus, int(code)), {"bus": bus, "code": int(code), "count": 0})
            event.update(count=event["count"] + 1, age=_age(line, uptime), text=text.strip()[:LONGEST])
    return {
        "module": module_version(machine),
        "events": list(events.values())[-KEPT:],
        "unread": unread,
        "lines": len(lines),
    }


def _log(machine: Machine) -> tuple[list[str], str]:
    if not machine.live:
        text = machine.text(f"{RECORDED}/kmsg")
        return ([], "the kernel log was not recorded") if text is None else (text.splitlines(), "")
    lines, problem = read_kmsg(KMSG)
    if not lines and shutil.which("dmesg"):
        answer = ask(["dmesg"], DMESG_SECONDS)
        lines = answer.stdout.splitlines() if not answer.problem and answer.status == 0 else []
    return lines, "" if lines else problem


def read_kmsg(path: str) -> tuple[list[str], str]:
    """Return the records of the kernel log, and why there are none."""
    lines: list[str] = []
    try:
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        return [], f"{path}: {error.strerror}"
    deadline = time.monotonic() + READ_SECONDS
    try:
        while time.monotonic() < deadline:
            try:
                record = os.read(log, RECORD_BYTES)
            except BrokenPipeError:  # overwritten while we read; the next read goes on behind the gap
                continue
            if not record:  # the real one has no end: a container put something else in its place
                break
            lines.append(record.decode("utf-8", "replace").splitlines()[0])
    except BlockingIOError:  # nothing newer
        pass
    except OSError as error:
        return [], f"{path}: {error.strerror}"
    finally:
        os.close(log)
    return lines, "" if lines else f"{path} is empty"


def _uptime(machine: Machine) -> float | None:
    words = (machine.text("proc/uptime") or "").split()
    return float(words[0]) if words else None


def _age(line: str, uptime: float | None) -> float | None:
    """Return how many seconds ago a line was written; None where that is not known."""
    found = PREFIX.match(line)
    if found is None or uptime is None:
        return None
    written = int(found.group(1)) / 1e6 if found.group(1) else float(found.group(2))
    return max(0.0, round(uptime - written))
