"""Judges shared memory, resource limits and swap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.host_amounts import GB, MB, UNLIMITED, amount, limit, need, whole
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status

SHM = "/dev/shm"  # noqa: S108 - only named

WORKERS = 4
BATCH = 96 * MB
BATCHES = 3
"""A DataLoader worker holds two batches ahead (``prefetch_factor``) and the one it is making."""

SHM_LEAST = GB
SHM_ALWAYS = 128 * MB
"""Below this nothing but toys runs; 64 MB is what Docker and Kubernetes give without being asked."""

KERNEL_SHARE = 0.4
"""The kernel makes /dev/shm half of the memory. One below this share was made small by somebody."""

NOFILE_LEAST = 1024
"""The soft limit that Linux distributions and systemd start with: small runs, DataLoader included, pass with far less
(measured: 40), so less than the default is a limit somebody set without knowing, and the default itself no fault."""

NOFILE_GPU = 65536
"""NCCL opens several descriptors for each peer and network: its guide counts more than 32000 a process at 144 ranks
with 16 networks. So with cards in the machine the default is a warning: one card passes, a large job does not."""


def _shm(scene: Scene) -> Finding:
    seen = scene.values("shm")
    size, free, write = seen.get("size"), seen.get("free"), seen.get("write")
    if size is None or free is None:
        reason = f": {write}" if write else ""
        return Finding(Status.SKIP, f"the size of /dev/shm could not be read{reason}")
    workers, batch = _workers(scene)
    needed = workers * BATCHES * batch
    asked = any(name in scene.settings for name in ("workers", "batch_mb"))
    measured, expected = (
        f"{amount(free)} free of {amount(size)}",
        f"{need(max(SHM_LEAST, needed if asked else 0))} free",
    )
    if write:
        return Finding(Status.FAIL, f"{SHM} cannot be written: {write}", measured, expected)
    if free >= SHM_LEAST and not (asked and free < needed):
        return Finding(Status.PASS, f"{SHM} has {amount(free)} free", measured, expected)
    words = f"{SHM} has {amount(free)}" + (" free" if free != size else "")
    if needed <= free:
        words += f"; NCCL and larger batches want {need(SHM_LEAST)}"
    else:
        words += f"; {workers} workers × {BATCHES} batches of {need(batch)} need {need(needed)}"
    fails = free < SHM_ALWAYS or (free < needed if asked else _made_small(scene, size))
    fix = "" if free > size / 2 else "remove what ended jobs left there: ls -l /dev/shm"
    return Finding(Status.FAIL if fails else Status.WARN, words, measured, expected, fix)


def _workers(scene: Scene) -> tuple[int, int]:
    """Return DataLoader workers and bytes of a batch that the layers promise, or what a common run has."""
    workers, batch = whole(scene.settings.get("workers")), whole(scene.settings.get("batch_mb"))
    return WORKERS if workers is None else workers, BATCH if batch is None else batch * MB


def _made_small(scene: Scene, size: int) -> bool:
    memory = scene.host.memory_mib
    return size < SHM_LEAST and memory is not None and size < KERNEL_SHARE * memory * MB


def _nofile(scene: Scene) -> Finding:
    seen = scene.values("nofile")
    soft, hard = seen.get("soft"), seen.get("hard")
    if soft is None:
        return Finding(Status.SKIP, "the limit of open files could not be read")
    wanted = NOFILE_GPU if scene.has_gpu else NOFILE_LEAST
    if soft == UNLIMITED or soft >= wanted:
        return Finding(Status.PASS, f"{_files(soft)} open files", _files(soft), f"{wanted} or more")
    status = Status.FAIL if soft < NOFILE_LEAST else Status.WARN
    words = f"only {soft} open files are allowed: large jobs end with `Too many open files`"
    most = NOFILE_GPU if hard == UNLIMITED else min(hard or 0, NOFILE_GPU)
    fix = f"ulimit -n {most}" if most >= wanted else ""
    return Finding(status, words, str(soft), f"{wanted} or more", fix)


def _files(count: int) -> str:
    return "unlimited" if count == UNLIMITED else str(count)


def _memlock(scene: Scene) -> Finding:
    seen = scene.values("memlock")
    soft = seen.get("soft")
    if soft is None:
        return Finding(Status.SKIP, "the limit of locked memory could not be read")
    ports = seen.get("infiniband") or []
    active = [port for port in ports if "ACTIVE" in port.get("state", "")]
    memory = scene.host.memory_mib
    free = soft == UNLIMITED or seen.get("exempt") or (memory is not None and soft >= memory * MB)
    words = f"{limit(soft)} of locked memory"
    if free or not active:
        reason = "" if free else "; only InfiniBand needs more, and no port is active here"
        return Finding(
            Status.PASS, words + reason, limit(soft), "unlimited where InfiniBand is used", detail=_rdma(seen)
        )
    summary = f"only {limit(soft)} of memory may be locked, and InfiniBand registers far more"
    return Finding(Status.FAIL, summary, limit(soft), "unlimited", detail=_rdma(seen))


def _rdma(seen: Mapping[str, Any]) -> tuple[str, ...]:
    ports = seen.get("infiniband") or []
    lines = [f"{port['device']}/{port['port']} {port['link_layer']} {port['rate']}: {port['state']}" for port in ports]
    if ports and not seen.get("peermem"):
        lines.append("nvidia-peermem is not loaded; GPUDirect RDMA then needs DMA-BUF (open kernel module, Linux 5.12)")
    return tuple(lines)


def _stack(scene: Scene) -> Finding:
    soft = scene.values("stack").get("soft")
    if soft is None:
        return Finding(Status.SKIP, "the limit of the stack could not be read")
    if soft == UNLIMITED:
        words = (
            "the stack is unlimited: glibc then gives NCCL's threads 2 MB, and NCCL before 2.28 crashes at its start"
        )
        return Finding(Status.WARN, words, "unlimited", "a number, such as 8 MB")
    return Finding(Status.PASS, f"a stack of {limit(soft)}", limit(soft), "not unlimited")


def _swap(scene: Scene) -> Finding:
    seen = scene.values("swap")
    total, free = seen.get("total"), seen.get("free")
    detail = _memory(seen)
    if total is None or free is None:
        return Finding(Status.SKIP, "swap could not be read", detail=detail)
    used = total - free
    if total and used > total / 2 and used >= GB:
        words = f"{amount(used)} of {amount(total)} swap are in use: a step that touches them waits for the disk"
        return Finding(Status.WARN, words, amount(used), "little", detail=detail)
    words = f"{amount(used)} of {amount(total)} swap in use" if total else "no swap"
    return Finding(Status.PASS, words, amount(used), "little", detail=detail)


def _memory(seen: Mapping[str, Any]) -> tuple[str, ...]:
    names = (("memory", "memory"), ("available", "available"), ("limit", "limit of the control group"))
    return tuple(f"{words}: {amount(seen[key])}" for key, words in names if seen.get(key) is not None)


CHECKS = (
    Check(
        id="shm",
        title="shared memory holds the batches of DataLoader workers",
        group="host",
        level=Level.QUICK,
        judge=_shm,
        fix="docker run … --shm-size=16g        (or: mount -o remount,size=16g /dev/shm)",
        probe="machine",
    ),
    Check(
        id="nofile",
        title="enough files may be open",
        group="host",
        level=Level.QUICK,
        judge=_nofile,
        fix="echo '* - nofile 131072' | sudo tee /etc/security/limits.d/90-nofile.conf        "
        "(or: docker run --ulimit nofile=131072)",
        probe="machine",
    ),
    Check(
        id="memlock",
        title="InfiniBand may lock memory",
        group="host",
        level=Level.FULL,
        judge=_memlock,
        fix="echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-memlock.conf        "
        "(or: docker run --ulimit memlock=-1; under Slurm: PropagateResourceLimitsExcept=MEMLOCK)",
        probe="machine",
    ),
    Check(
        id="stack",
        title="the stack has a limit",
        group="host",
        level=Level.QUICK,
        judge=_stack,
        fix="ulimit -s 8192",
        probe="machine",
    ),
    Check(
        id="swap",
        title="nothing is swapped out",
        group="host",
        level=Level.FULL,
        judge=_swap,
        fix="see what takes the memory: ps -eo pid,rss,args --sort=-rss | head",
        probe="machine",
    ),
)
"""In the order of the ladder."""
