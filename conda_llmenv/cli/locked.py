"""How a lock is told: what it holds and what has moved, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conda_llmenv.cli import console
from conda_llmenv.model import Lock, LockedPlatform


def say_lock(lock: Lock, written: Sequence[Path], previous: Lock | None) -> None:
    """Print what was locked, what has moved since the lock it started from, and the files."""
    for platform in lock.platforms:
        console.fact("locked", f"{platform.subdir}, {_count(platform)}")
        before = previous.platform(platform.subdir) if previous is not None else None
        for line in _moves(before, platform) if before is not None else ():
            console.fact("moved", line)
    console.fact("written", ", ".join(map(str, written)))
    console.say(f"\nmake it elsewhere:  llmenv create --lock {written[-1]} -n NAME")


def lock_json(lock: Lock, written: Iterable[Path]) -> dict[str, Any]:
    """Return a lock as it stands in a payload."""
    return {
        "files": [str(path) for path in written],
        "input_hash": lock.input_hash,
        "facts": dict(lock.facts),
        "channels": [{"name": channel.name, "url": channel.url} for channel in lock.channels],
        "platforms": [
            {
                "platform": platform.subdir,
                "conda": [
                    {
                        "name": record.name,
                        "version": record.version,
                        "build": record.build,
                        "url": record.url,
                        "sha256": record.sha256,
                    }
                    for record in platform.records
                ],
                "pip": [
                    {
                        "name": package.name,
                        "version": package.version,
                        "requirement": package.requirement,
                        "hashes": list(package.hashes),
                    }
                    for package in platform.pip
                ],
            }
            for platform in lock.platforms
        ],
    }


def _count(platform: LockedPlatform) -> str:
    pip = f" and {len(platform.pip)} pip packages" if platform.pip else ""
    return f"{len(platform.records)} conda packages{pip}"


def _moves(before: LockedPlatform, after: LockedPlatform) -> Iterator[str]:
    """Yield what is another version or build than before, or came, or went."""
    old = {**{one.name: f"{one.version} {one.build}" for one in before.records}, **_pip(before)}
    new = {**{one.name: f"{one.version} {one.build}" for one in after.records}, **_pip(after)}
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name, 'none').strip()} → {new.get(name, 'none').strip()}"


def _pip(platform: LockedPlatform) -> dict[str, str]:
    return {one.name: one.version or one.requirement for one in platform.pip}
