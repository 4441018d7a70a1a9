"""Facts of the operating system and the processor, from the texts the kernel gives (pure) and from a root folder."""

from __future__ import annotations

import json
import os
import platform
import re
from pathlib import Path
from typing import Any

from msgspec import Struct

RECORDED = "run/llmenv"
"""Folder, below a fake root, of what has no file on a real machine."""

_V2 = frozenset({"cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"})
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
LEVELS = (("x86_64_v4", _V4), ("x86_64_v3", _V3), ("x86_64_v2", _V2))
"""Linux names of the CPU flags each archspec level needs (x86-64 psABI, archspec's microarchitectures.json)."""

UNLIMITED = -1

_FIELDS: dict[str, type] = {"subdir": str, "glibc": str, "cpus": int, "shm_bytes": int}
"""What ``host.json`` of a recorded machine may say."""

_SUBDIRS = {
    "x86_64": "linux-64",
    "amd64": "linux-64",
    "aarch64": "linux-aarch64",
    "arm64": "linux-aarch64",
    "ppc64le": "linux-ppc64le",
}


class SystemFacts(Struct, frozen=True):
    """What the operating system says; sizes in bytes, memory in MiB, -1 for an unlimited limit."""

    subdir: str
    glibc: str | None
    kernel: str | None
    cpu_level: str | None
    cpus: int | None
    memory_mib: int | None
    shm_bytes: int | None
    nofile: int | None
    memlock: int | None
    stack: int | None
    problems: tuple[str, ...] = ()


def read_system(root: Path) -> SystemFacts:
    """Return the facts below ``root``; for ``/`` the running kernel and C library are asked where no file tells."""
    live = is_live(root)
    recorded, problems = ({}, ()) if live else _recorded(root)
    cpuinfo = read_text(root / "proc/cpuinfo") or ""
    subdir = recorded.get("subdir") or live_subdir()
    limits = read_text(root / "proc/self/limits") or ""
    return SystemFacts(
        subdir=subdir,
        glibc=_live_glibc() if live else recorded.get("glibc"),
        kernel=kernel_version(read_text(root / "proc/sys/kernel/osrelease") or ""),
        cpu_level=cpu_level(cpuinfo, subdir),
        cpus=_live_cpus() if live else recorded.get("cpus") or cpuinfo.count("processor\t:") or None,
        memory_mib=memory_mib(
            read_text(root / "proc/meminfo") or "", read_text(root / "sys/fs/cgroup/memory.max") or ""
        ),
        shm_bytes=_live_shm() if live else recorded.get("shm_bytes"),
        nofile=soft_limit(limits, "Max open files"),
        memlock=soft_limit(limits, "Max locked memory"),
        stack=soft_limit(limits, "Max stack size"),
        problems=problems,
    )


def is_live(root: Path) -> bool:
    """Return whether ``root`` is this machine itself and not a recorded one."""
    return root == Path("/")


def read_text(path: Path) -> str | None:
    """Return a small text file, or None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def live_subdir() -> str:
    """Return conda's name of the platform we run on."""
    system, machine = platform.system(), platform.machine().lower()
    if system == "Darwin":
        return "osx-arm64" if machine == "arm64" else "osx-64"
    return _SUBDIRS.get(machine, f"linux-{machine}")


def cpu_level(cpuinfo: str, subdir: str) -> str | None:
    """Return the archspec name of the processor: ``x86_64`` to ``x86_64_v4`` by its flags, else the architecture.

    Every processor listed has to have a flag for it to count, so that a mixed machine gets the lower level.
    """
    arch = {"linux-64": "x86_64", "osx-64": "x86_64", "linux-aarch64": "aarch64", "osx-arm64": "aarch64"}.get(subdir)
    lines = re.findall(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    if arch != "x86_64" or not lines:
        return arch
    flags = frozenset.intersection(*(frozenset(line.split()) for line in set(lines)))
    return next((name for name, needed in LEVELS if needed <= flags), arch)


def kernel_version(osrelease: str) -> str | None:
    """Return the upstream part of a kernel release: ``5.15.0-91-generic`` → ``5.15.0``."""
    match = re.match(r"\d+\.\d+(?:\.\d+)*", osrelease.strip())
    return match[0] if match else None


def memory_mib(meminfo: str, cgroup_max: str) -> int | None:
    """Return the memory a process here can use, MiB: the machine's, or its control group's limit if that is smaller."""
    match = re.search(r"^MemTotal:\s*(\d+) kB", meminfo, re.MULTILINE)
    sizes = [int(match[1]) // 1024] if match else []
    if cgroup_max.strip().isdigit():
        sizes.append(int(cgroup_max) // 2**20)
    return min(sizes, default=None)


def soft_limit(limits: str, title: str) -> int | None:
    """Return a soft limit from the text of ``/proc/self/limits``; -1 for unlimited, None if it is not there."""
    match = re.search(rf"^{re.escape(title)}\s+(unlimited|\d+)", limits, re.MULTILINE)
    if match is None:
        return None
    return UNLIMITED if match[1] == "unlimited" else int(match[1])


def _recorded(root: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what ``host.json`` of a recorded machine says, and what is wrong with it."""
    path = root / RECORDED / "host.json"
    text = read_text(path)
    if text is None:
        return {}, ()
    try:
        loaded = json.loads(text)
    except ValueError:
        loaded = None
    if not isinstance(loaded, dict):
        return {}, (f"{path} is not a JSON mapping and was ignored",)
    wrong = sorted(name for name, value in loaded.items() if not isinstance(value, _FIELDS.get(name, object)))
    kept = {name: value for name, value in loaded.items() if name not in wrong}
    return kept, tuple(f"{path} has {name} of the wrong type, which was ignored" for name in wrong)


def _live_glibc() -> str | None:
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):  # another C library does not know the name
        return None
    return text.removeprefix("glibc ").strip() if text else None


def _live_cpus() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _live_shm() -> int | None:
    try:
        status = os.statvfs("/dev/shm")  # noqa: S108 - looked at, never written
    except OSError:
        return None
    return status.f_blocks * status.f_frsize
