"""Judges the disks under the environment, temporary files and HOME."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.host_amounts import GB, MB, amount, need
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status

LEAST_FREE = 100 * MB
"""Bytes below which it is a failure: a single log fills that."""

ENOUGH_FREE = GB
"""Bytes below which it is a warning: compiled kernels and a small checkpoint fit."""

LEAST_INODES = 1000

_USE = {"prefix": "the environment", "tmp": "the folder of temporary files", "home": "HOME"}
_FIXES = {
    "prefix": "install the environment on a file system that is mounted with exec",
    "tmp": "export TMPDIR=FOLDER with a folder on a disk that has room and allows programs",
    "home": "free space in HOME, or move caches away: export XDG_CACHE_HOME=FOLDER HF_HOME=FOLDER",
}


def _disk(scene: Scene) -> Finding:
    seen = scene.values("disk")
    places: Mapping[str, Mapping[str, Any]] = seen.get("places") or {}
    if not places:
        return Finding(Status.SKIP, "disks were not looked at")
    faults = [(*fault, name) for name, place in places.items() for fault in _faults(name, place)]
    asked, found = str(seen.get("tmpdir") or ""), str(places.get("tmp", {}).get("path", ""))
    if asked and asked.rstrip("/") != found.rstrip("/"):
        faults.append((Status.WARN, f"TMPDIR names {asked}, which cannot be written; {found} is used", "tmp"))
    detail = tuple(_place(name, place) for name, place in places.items())
    measured = ", ".join(f"{name} {amount(place['free'])}" for name, place in places.items() if "free" in place)
    expected = f"{need(ENOUGH_FREE)} free and {LEAST_INODES} inodes where is written"
    if not faults:
        return Finding(Status.PASS, "disks have room", measured, expected, detail=detail)
    faults.sort(key=lambda fault: fault[0] is not Status.FAIL)
    (status, text, name), *others = faults
    return Finding(status, text, measured, expected, _FIXES[name], (*(words for _, words, _ in others), *detail))


def _faults(name: str, place: Mapping[str, Any]) -> list[tuple[Status, str]]:
    """Return what is wrong with one place; an environment itself may be full or read-only, it is finished."""
    where = f"{_USE[name]}, {place['path']},"
    worst = Status.WARN if name == "home" else Status.FAIL
    if "problem" in place:
        return [(worst, f"{where} cannot be looked at: {place['problem']}")]
    found = []
    if place["noexec"]:
        broken = "no library in it can be loaded" if name == "prefix" else "compiled kernels cannot be loaded from it"
        found.append((Status.FAIL if name == "prefix" else Status.WARN, f"{where} is mounted noexec: {broken}"))
    if name == "prefix":
        return found
    if place["read_only"] or not place["writable"]:
        found.append((worst, f"{where} cannot be written"))
    if place["free"] < ENOUGH_FREE:
        found.append(
            (worst if place["free"] < LEAST_FREE else Status.WARN, f"{where} has {amount(place['free'])} left")
        )
    if place["inodes"] and place["inodes_free"] < LEAST_INODES:
        found.append((worst, f"{where} has {place['inodes_free']} inodes left: no more files fit"))
    return found


def _place(name: str, place: Mapping[str, Any]) -> str:
    if "problem" in place:
        return f"{name} {place['path']}: {place['problem']}"
    flags = "".join(f", {word}" for key, word in (("read_only", "read-only"), ("noexec", "noexec")) if place[key])
    room = f"{amount(place['free'])} of {amount(place['size'])} free"
    return f"{name} {place['path']}: {room}, {place['type'] or 'unknown file system'} on {place['mount'] or '?'}{flags}"


CHECKS = (
    Check(
        id="disk",
        title="disks have room and let programs run",
        group="host",
        level=Level.QUICK,
        judge=_disk,
        fix=_FIXES["tmp"],
        probe="machine",
        timeout=20,
    ),
)
