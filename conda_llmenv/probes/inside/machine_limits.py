"""Observes shared memory, resource limits, memory and disks."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Sequence
from typing import Any

from .machine_files import RECORDED, Machine
from .machine_network import infiniband

SHM = "/dev/shm"  # noqa: S108 - the place itself is looked at
WRITTEN = 2**20
"""Bytes that the write test puts into shared memory."""

UNLIMITED = -1
CAP_IPC_LOCK = 14  # linux/capability.h
NO_LIMIT = 2**60
"""A control group's ``memory.limit_in_bytes`` above this is the kernel's way to write "none"."""

PLACES = ("prefix", "tmp", "home")
MOUNT_POINT = 4
"""Field of the mount point in a line of mountinfo (proc(5), counted from 0)."""


def shm(machine: Machine) -> dict[str, Any]:
    """Return size and free bytes of shared memory, and why it could not be written (empty if it could)."""
    if not machine.live:
        size = json.loads(machine.text(f"{RECORDED}/host.json") or "{}").get("shm_bytes")
        return {"size": size, "free": size, "write": None}
    try:
        status = os.statvfs(SHM)
    except OSError as error:
        return {"size": None, "free": None, "write": error.strerror}
    return {
        "size": status.f_blocks * status.f_frsize,
        "free": status.f_bavail * status.f_frsize,
        "write": _write_error(),
    }


def _write_error() -> str:
    try:
        with tempfile.TemporaryFile(dir=SHM, buffering=0) as file:
            rest = WRITTEN
            while rest:
                rest -= file.write(b"\0" * rest)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def nofile(machine: Machine) -> dict[str, Any]:
    """Return soft and hard limit of open files; -1 for unlimited."""
    return _limit(machine, "RLIMIT_NOFILE", "Max open files")


def stack(machine: Machine) -> dict[str, Any]:
    """Return soft and hard limit of the stack in bytes; -1 for unlimited."""
    return _limit(machine, "RLIMIT_STACK", "Max stack size")


def memlock(machine: Machine) -> dict[str, Any]:
    """Return soft and hard limit of locked memory in bytes, whether it binds us, and what InfiniBand there is."""
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)", machine.text("proc/self/status") or "", re.MULTILINE)
    values = _limit(machine, "RLIMIT_MEMLOCK", "Max locked memory")
    values["exempt"] = bool(effective and int(effective.group(1), 16) >> CAP_IPC_LOCK & 1)
    values["infiniband"] = infiniband(machine)
    values["peermem"] = any(machine.names("sys/module/" + name) for name in ("nvidia_peermem", "nv_peer_mem"))
    return values


def _limit(machine: Machine, name: str, title: str) -> dict[str, Any]:
    if machine.live:
        import resource

        limits = resource.getrlimit(getattr(resource, name))
        soft, hard = (UNLIMITED if value == resource.RLIM_INFINITY else value for value in limits)
        return {"soft": soft, "hard": hard}
    text = machine.text("proc/self/limits") or ""
    found = re.search(rf"^{re.escape(title)}\s+(unlimited|\d+)\s+(unlimited|\d+)", text, re.MULTILINE)
    if found is None:
        return {"soft": None, "hard": None}
    return {"soft": _parsed(found.group(1)), "hard": _parsed(found.group(2))}


def _parsed(text: str) -> int:
    return UNLIMITED if text == "unlimited" else int(text)


def swap(machine: Machine) -> dict[str, Any]:
    """Return swap and memory in bytes, and the control group's limit of memory (None where it sets none)."""
    text = machine.text("proc/meminfo") or ""
    kib = {name: int(size) for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}
    names = (("total", "SwapTotal"), ("free", "SwapFree"), ("memory", "MemTotal"), ("available", "MemAvailable"))
    values = {key: kib[name] * 1024 if name in kib else None for key, name in names}
    values["limit"] = memory_limit(machine)
    return values


def memory_limit(machine: Machine) -> int | None:
    """Return the smallest memory limit of our control groups, of either version, in bytes; None without one."""
    limits = []
    for line in (machine.text("proc/self/cgroup") or "0::/").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers in MEMORY_FILES:
            limits += _limits_down(machine, *MEMORY_FILES[controllers], path)
    return min(limits, default=None)


MEMORY_FILES = {
    "": ("sys/fs/cgroup", "memory.max"),
    "memory": ("sys/fs/cgroup/memory", "memory.limit_in_bytes"),
}
"""Controllers of a line of ``/proc/self/cgroup`` to folder and file of the limit: version 2, version 1."""


def _limits_down(machine: Machine, base: str, name: str, path: str) -> list[int]:
    """Return every limit from the root of the hierarchy down to our group; inside a container only the root is seen."""
    parts = [part for part in path.split("/") if part and part != ".."]
    folders = ["/".join([base, *parts[:depth]]) for depth in range(len(parts) + 1)]
    texts = [(machine.text(f"{folder}/{name}") or "").strip() for folder in folders]
    return [int(text) for text in texts if text.isdigit() and int(text) < NO_LIMIT]


def disk(machine: Machine) -> dict[str, Any]:
    """Return, for the environment, the folder of temporary files and HOME, what is left and how it is mounted."""
    if not machine.live:
        return {}
    paths = {"prefix": machine.prefix, "tmp": _temporary(), "home": os.path.expanduser("~")}
    mounts = _mounts(machine)
    places = {name: _place(paths[name], mounts) for name in PLACES}
    return {"places": places, "tmpdir": os.environ.get("TMPDIR", "")}


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:  # none of the usual folders can be written
        return os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - where a program would look next


def _place(path: str, mounts: Sequence[tuple[str, str]]) -> dict[str, Any]:
    try:
        status = os.statvfs(path)
    except OSError as error:
        return {"path": path, "problem": error.strerror or str(error)}
    real = os.path.realpath(path)
    mount, kind = max(
        (found for found in mounts if _below(real, found[0])), key=lambda found: len(found[0]), default=("", "")
    )
    return {
        "path": path,
        "mount": mount,
        "type": kind,
        "size": status.f_blocks * status.f_frsize,
        "free": status.f_bavail * status.f_frsize,
        "inodes": status.f_files,
        "inodes_free": status.f_favail,
        "read_only": bool(status.f_flag & os.ST_RDONLY),
        "noexec": bool(status.f_flag & getattr(os, "ST_NOEXEC", 0)),
        "writable": os.access(path, os.W_OK | os.X_OK),
    }


def _below(path: str, mount: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")


def _mounts(machine: Machine) -> list[tuple[str, str]]:
    """Return (mount point, file system type) of every mount, as ``/proc/self/mountinfo`` lists them."""
    found = []
    for line in (machine.text("proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        if after and len(fields) > MOUNT_POINT:
            found.append((_unescaped(fields[MOUNT_POINT]), after.split()[0]))
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)
