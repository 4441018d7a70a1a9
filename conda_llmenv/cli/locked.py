"""How a lock is told: what it holds, what has moved and what to know about it, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conda_llmenv.cli import console
from conda_llmenv.locks.registry import Format
from conda_llmenv.model import Lock, LockedPlatform, Notice
from conda_llmenv.redact import holds_secret


def say_lock(lock: Lock, written: Mapping[Path, Format], previous: Lock | None) -> None:
    """Print what was locked, what has moved since the lock it started from, and the files."""
    for platform in lock.platforms:
        console.fact("locked", f"{platform.subdir}, {_count(platform)}")
        before = previous.platform(platform.subdir) if previous is not None else None
        for line in _moves(before, platform) if before is not None else ():
            console.fact("moved", line)
    console.fact("written", ", ".join(map(str, written)))
    creating = [path for path, entry in written.items() if entry.creates]
    if creating:
        console.say(f"\nmake it elsewhere:  llmenv create --lock {creating[-1]} -n NAME")
    else:
        console.say(
            "\nno environment can be made of that alone: `llmenv lock --format pixi` writes what create --lock takes"
        )


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


def lock_notices(lock: Lock, entry: Format) -> tuple[Notice, ...]:
    """Return what a person should know about a lock in a format: what that leaves out, and what nobody else can get."""
    platform = lock.platforms[0]
    left_out = (*secret_notices(lock.variables), *_left_out(platform, entry))
    if not entry.pip or not platform.pip:
        return left_out
    from conda_llmenv.locks.pip_index import local_version_notices
    from conda_llmenv.locks.pip_owners import double_owned
    from conda_llmenv.locks.pip_targets import local_path_notices

    doubles = (double.notice() for double in double_owned(platform.records, platform.pip))
    return (*left_out, *doubles, *local_version_notices(lock), *local_path_notices(lock))


def secret_notices(variables: Mapping[str, str]) -> tuple[Notice, ...]:
    """Return the warning that names the variables which no file of ours holds, none where there is no such variable."""
    secret = sorted(name for name, value in variables.items() if holds_secret(name, value))
    if not secret:
        return ()
    names, them = ", ".join(secret), "them" if len(secret) > 1 else "it"
    return (
        Notice(
            "secret-left-out",
            f"left out, as no file of ours holds a secret: {names}; set {them} by hand in each new environment",
            hint=f"`conda env config vars set -n NAME {secret[0]}=…`",
        ),
    )


def _left_out(platform: LockedPlatform, entry: Format) -> Iterator[Notice]:
    if platform.pip and not entry.pip:
        yield from _pip_in_comments(platform, entry)
    if platform.records and not entry.conda:
        yield Notice(
            "conda-left-out",
            f"{entry.name} is about the pip section alone; {len(platform.records)} conda packages are left out",
            hint="`--format pixi` or `--format conda-lock` has both",
        )


def _pip_in_comments(platform: LockedPlatform, entry: Format) -> Iterator[Notice]:
    """Tell who reads the comments that distributions stand in, and which have no place even there."""
    from conda_llmenv.locks.exact import why_not

    left_out = [package.name for package in platform.pip if why_not(package, platform)]
    if len(left_out) < len(platform.pip):
        yield Notice(
            "pip-in-comments",
            f"{entry.name} has what pip installs in comments: `create --lock` and conda-lock read them, "
            "conda and mamba do not",
            hint="for conda and mamba, write it beside the list with `--format requirements`",
        )
    if left_out:
        yield Notice(
            "pip-left-out",
            f"{entry.name} has no place for {', '.join(left_out)}, of which no address with a hash is known",
            hint="write them beside the list with `--format requirements`",
        )


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
