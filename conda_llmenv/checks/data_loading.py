"""Loading data in worker processes: every sample right and in order, through /dev/shm and within the limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from conda_llmenv.checks.causes import known_fix
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status

MIB = 1024**2


class Obstacle(Struct, frozen=True):
    """What a loader's failure reads like, what stands in its way and what to do."""

    text: str
    means: str
    fix: str


SHM_FIX = (
    "mount -o remount,size=8G /dev/shm as root; in a container: docker run --shm-size=8g (or --ipc=host), "
    "in Kubernetes an emptyDir with medium Memory mounted there"
)

OBSTACLES = (
    Obstacle(
        r"Too many open files|ancdata|Errno 24|File descriptor limit",
        "the limit of open files is too low for tensors that come from workers",
        "ulimit -n 65535, and raise it for good in /etc/security/limits.conf",
    ),
    Obstacle(
        r"Bus error|No space left on device|shared memory|insufficient shm|shm_open|torch_shm|/dev/shm|Errno 28",
        "/dev/shm is too small for tensors that come from workers",  # noqa: S108 - the message names it
        SHM_FIX,
    ),
    Obstacle(
        r"Resource temporarily unavailable|can't start new thread|Errno 11",
        "the limit of processes and threads is reached",
        "ulimit -u 65535, and in a container raise its pids limit",
    ),
    Obstacle(
        r"killed by signal: Killed|exited unexpectedly|Cannot allocate memory|Errno 12",
        "workers die, as they do where memory is used up",
        "free -g and `dmesg | grep -i oom` show who has it; give the job more memory or fewer workers",
    ),
    Obstacle(
        r"Cannot re-initialize CUDA in forked subprocess",
        "a worker was forked from a process that had used a card",
        "give the DataLoader multiprocessing_context='spawn'",
    ),
)
"""What torch, the kernel and Python say where workers cannot hand over their tensors."""


def dataloader(scene: Scene) -> Finding:
    """Judge loading by forked and by spawned workers, and keeping many tensors at a time."""
    seen = scene.values("dataloader")
    problem = next(_errors(seen), None)
    if problem is not None:
        return _failed(scene, seen, *problem)
    wrong = {way: found for way, found in _ways(seen) if found["wrong"] or found.get("samples") != found.get("wanted")}
    if wrong:
        way, found = next(iter(wrong.items()))
        count = f"{found['wrong']} wrong of {found.get('samples', 'all')}"
        return Finding(Status.FAIL, f"workers by {way} give other samples than were asked for", count, "all as asked")
    workers = seen["workers"]
    rates = {way: seen[way]["samples"] / seen[way]["took"] for way in ("fork", "spawn")}
    return Finding(
        Status.PASS,
        f"{workers} workers give every sample in order, forked and spawned",
        f"{2 * seen['fork']['samples']} samples of 1 MiB",
        "every value as computed",
        detail=(
            f"sharing strategy: {seen['sharing']}",
            f"pinned memory: {'yes' if seen['pinned'] else 'no card here'}",
        ),
        figures={"loader_per_s": rates["fork"]},
    )


def _ways(seen: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each way of loading that was tried with what came of it."""
    for way in ("fork", "spawn", "held"):
        if way in seen:
            yield way, seen[way]


def _errors(seen: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the ways that ended with an exception, with its text."""
    for way, found in _ways(seen):
        if "error" in found:
            yield way, str(found["error"])


def _failed(scene: Scene, seen: Mapping[str, Any], way: str, error: str) -> Finding:
    lines = [line for line in error.splitlines() if line.strip()]
    reason = lines[-1] if "Original Traceback" in error else lines[0]  # a worker's own exception stands at the end
    obstacle = next((one for one in OBSTACLES if re.search(one.text, error)), None)
    if obstacle is None and "timed out" in error:
        obstacle = _suspect(scene, seen)
    what = "many tensors at a time" if way == "held" else f"workers by {way}"
    means = obstacle.means if obstacle else reason
    return Finding(
        Status.FAIL,
        f"a DataLoader fails with {what}: {means}",
        measured=reason,
        expected="every sample in order",
        fix=obstacle.fix if obstacle else known_fix(lines),
        detail=(
            *_limits(scene, seen),
            *(f"{other}: {text.splitlines()[0]}" for other, text in _errors(seen) if other != way),
        ),
    )


def _suspect(scene: Scene, seen: Mapping[str, Any]) -> Obstacle | None:
    """Return what makes a worker wait for ever: a tensor it could not hand over is lost without an error."""
    if scene.host.shm_bytes is not None and scene.host.shm_bytes < 64 * MIB:
        return OBSTACLES[1]
    return OBSTACLES[0] if 0 <= seen["nofile"] < 256 else None  # noqa: PLR2004 - four times the tensors that are kept


def _limits(scene: Scene, seen: Mapping[str, Any]) -> tuple[str, ...]:
    shm = scene.host.shm_bytes
    size = "of unknown size" if shm is None else f"{shm / MIB:.0f} MiB"
    return (f"shared memory in /dev/shm: {size}", f"open files are limited to {seen['nofile']}")
