"""Observes shared memory, resource limits, memory and disks."""

from __future__ import annotations

import json
import os
import re
import tempfile

from .machine_files import RECORDED
from .machine_network import infiniband

SHM = "/dev/shm"
WRITTEN = 2**20
"""Bytes that the write test puts into shared memory."""

UNLIMITED = -1
CAP_IPC_LOCK = 14  # linux/capability.h
NO_LIMIT = 2**60
"""A control group's ``memory.limit_in_bytes`` above this is the kernel's way to write "none"."""

PLACES = ("prefix", "tmp", "home")


def shm(machine):
    """Return size and free bytes of shared memory, and why it could not be written (empty if it could)."""
    if not machine.live:
        size = json.loads(machine.text(RECORDED + "/host.json") or "{}").get("shm_bytes")
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


def _write_error():
    try:
        with tempfile.NamedTemporaryFile(prefix="llmenv-", dir=SHM, buffering=0) as file:
            rest = WRITTEN
            while rest:
                rest -= file.write(b"\0" * rest)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def nofile(machine):
    """Return soft and hard limit of open files; -1 for unlimited."""
    return _limit(machine, "RLIMIT_NOFILE", "Max open files")


def stack(machine):
    """Return soft and hard limit of the stack in bytes; -1 for unlimited."""
    return _limit(machine, "RLIMIT_STACK", "Max stack size")


def memlock(machine):
    """Return soft and hard limit of locked memory in bytes, whether it binds us, and what InfiniBand there is."""
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)", machine.text("proc/self/status") or "", re.MULTILINE)
    values = _limit(machine, "RLIMIT_MEMLOCK", "Max locked memory")
    values["exempt"] = bool(effective and int(effective.group(1), 16) >> CAP_IPC_LOCK & 1)
    values["infiniband"] = infiniband(machine)
    values["peermem"] = any(machine.names("sys/module/" + name) for name in ("nvidia_peermem", "nv_peer_mem"))
    return values


def _limit(machine, name, title):
    if machine.live:
        import resource

        soft, hard = resource.getrlimit(getattr(resource, name))
        return {"soft": _plain(soft, resource), "hard": _plain(hard, resource)}
    text = machine.text("proc/self/limits") or ""
    found = re.search(r"^%s\s+(unlimited|\d+)\s+(unlimited|\d+)" % re.escape(title), text, re.MULTILINE)
    soft, hard = found.groups() if found else (None, None)
    return {"soft": _parsed(soft), "hard": _parsed(hard)}


def _plain(value, resource):
    return UNLIMITED if value == resource.RLIM_INFINITY else value


def _parsed(text):
    return UNLIMITED if text == "unlimited" else None if text is None else int(text)


def swap(machine):
    """Return swap and memory in bytes, and the control group's limit of memory (None where it sets none)."""
    text = machine.text("proc/meminfo") or ""
    kib = {name: int(size) for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}
    names = (("total", "SwapTotal"), ("free", "SwapFree"), ("memory", "MemTotal"), ("available", "MemAvailable"))
    values = {key: kib[name] * 1024 if name in kib else None for key, name in names}
    values["limit"] = memory_limit(machine)
    return values


def memory_limit(machine):
    """Return the smallest memory limit of our control groups, of either version, in bytes; None without one."""
    limits = []
    for line in (machine.text("proc/self/cgroup") or "0::/").splitlines():
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if controllers == "":
            base, name = "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            base, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        parts = [part for part in path.split("/") if part and part != ".."]
        for depth in range(len(parts) + 1):
            text = (machine.text("/".join([base, *parts[:depth], name])) or "").strip()
            if text.isdigit() and int(text) < NO_LIMIT:
                limits.append(int(text))
    return min(limits, default=None)


def disk(machine):
    """Return, for the environment, the folder of temporary files and HOME, what is left and how it is mounted."""
    if not machine.live:
        return {}
    paths = {"prefix": machine.prefix, "tmp": _temporary(), "home": os.path.expanduser("~")}
    mounts = _mounts(machine)
    places = {name: _place(paths[name], mounts) for name in PLACES}
    return {"places": places, "tmpdir": os.environ.get("TMPDIR", "")}


def _temporary():
    try:
        return tempfile.gettempdir()
    except OSError:  # none of the usual folders can be written
        return os.environ.get("TMPDIR") or "/tmp"


def _place(path, mounts):
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


def _below(path, mount):
    return path == mount or path.startswith(mount.rstrip("/") + "/")


def _mounts(machine):
    """Return (mount point, file system type) of every mount, as ``/proc/self/mountinfo`` lists them."""
    found = []
    for line in (machine.text("proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        if after and len(before.split()) > 4:
            found.append((_unescaped(before.split()[4]), after.split()[0]))
    return found


def _unescaped(text):
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)
