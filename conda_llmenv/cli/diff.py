"""``llmenv diff``: what differs between two environments, two lockfiles, or an environment and what it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.cli import console
from conda_llmenv.cli.options import complete_environments, json_option
from conda_llmenv.errors import InputError, NotFoundError
from conda_llmenv.locks.differences import Part
from conda_llmenv.model import Lock, LockedPlatform, Notice

if TYPE_CHECKING:
    from conda_llmenv.locks.sides import Side

DIFFERENT = 1
"""The exit code that says so, as that of diff(1)."""


class Named(Struct, frozen=True):
    """What was named for one side: what to call it, its lock, and what a lock of its kind says."""

    label: str
    lock: Lock
    says: frozenset[Part]


@click.command()
@click.argument("first", metavar="A", shell_complete=complete_environments)
@click.argument("second", metavar="[B]", required=False, shell_complete=complete_environments)
@click.option("--platform", metavar="SUBDIR", help="Platform to compare where a lock has several; default: this one.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing: the exit code says it.")
@json_option
def diff(first: str, second: str | None, platform: str | None, *, quiet: bool, as_json: bool) -> int:
    """Say what differs between two environments or lockfiles.

    A and B are each an environment (name or path) or a lockfile of any format but constraints. With A alone, an
    environment is compared with what it was when llmenv made it. The exit code is 0 where they are equal, 1 where they
    differ, 2 for a mistake.
    """
    from conda_llmenv.cli.comparison import comparison_json, comparison_lines
    from conda_llmenv.locks.compare import compare

    named = (
        _as_made(first, quiet=quiet) if second is None else (_named(first, quiet=quiet), _named(second, quiet=quiet))
    )
    one, other = named
    sides = _side(one, other, platform), _side(other, one, platform)
    found = compare(*sides)
    labels = [
        f"{one.label} ({side.platform.subdir})" if len(one.lock.platforms) > 1 else one.label
        for one, side in zip(named, sides, strict=True)
    ]
    if as_json:
        console.payload("diff", comparison_json(found, labels))
    elif not quiet:
        for line in comparison_lines(found, labels):
            console.out(line)
    return DIFFERENT if found.differences else 0


def _as_made(text: str, *, quiet: bool) -> tuple[Named, Named]:
    """Return an environment as it was made and as it is now."""
    from conda_llmenv.prefix.recorded import read_recorded
    from conda_llmenv.prefix.unfinished import why_unfinished

    if _is_file(text):
        raise InputError(
            f"{text} is a lockfile, and there is nothing to compare it with",
            hint=f"name an environment or another lock too: llmenv diff {text} ENVIRONMENT",
        )
    prefix = _prefix(text)
    now = _environment(prefix)
    recorded = read_recorded(prefix, subdir=now.lock.platforms[0].subdir)
    if recorded is not None and not quiet:
        _warn_unfinished(prefix)
    why = why_unfinished(prefix)
    if recorded is None and why:
        raise InputError(
            f"{prefix} is not finished, so there is nothing yet that it was: {why}",
            hint=f"name what to compare it with: llmenv diff {text} OTHER",
        )
    if recorded is None:
        raise InputError(
            f"llmenv did not make {prefix}, so nobody noted what it was",
            hint=f"name what to compare it with: llmenv diff {text} OTHER",
        )
    return Named(f"{prefix} as it was made", recorded, now.says), replace(now, label=f"{prefix} as it is now")


def _named(text: str, *, quiet: bool) -> Named:
    if _is_file(text):
        return _file(Path(text), quiet=quiet)
    prefix = _prefix(text)
    if not quiet:
        _warn_unfinished(prefix)
    return _environment(prefix)


def _warn_unfinished(prefix: Path) -> None:
    from conda_llmenv.prefix.unfinished import why_unfinished

    why = why_unfinished(prefix)
    if why:
        console.warn(Notice("unfinished", f"{prefix} is not finished, and compared as it is now: {why}"))


def _is_file(text: str) -> bool:
    """Return whether a lockfile is meant: a file that is there, unless it is the name of an environment."""
    from conda_llmenv.cli.wiring import user_config
    from conda_llmenv.prefix.location import environment_names

    path = Path(text)
    return path.exists() and not path.is_dir() and text not in environment_names(user_config().envs_dirs)


def _prefix(text: str) -> Path:
    from conda_llmenv.cli.wiring import existing_prefix, user_config

    if "/" in text or text.startswith("~"):
        return existing_prefix(None, text, user_config())
    try:
        return existing_prefix(text, None, user_config())
    except InputError as error:
        if Path(text).is_dir():
            return existing_prefix(None, text, user_config())
        hint = error.hint if isinstance(error, NotFoundError) else ""
        raise NotFoundError(
            f"{text!r} is neither an environment nor a lockfile that is there",
            hint=hint or "give an environment's name or path, or the path of a lockfile",
        ) from error


def _file(path: Path, *, quiet: bool) -> Named:
    from conda_llmenv.cli.lock_files import read_lock_file
    from conda_llmenv.locks.sides import IN_HEAD, SAID

    found = read_lock_file(path, edited=True)
    if found.edited and not quiet:
        console.warn(Notice("lock-edited", f"{path} was edited after llmenv wrote it; it is compared as it is now"))
    says = SAID[found.format.name] | (IN_HEAD if found.ours else frozenset())
    return Named(str(path), found.lock, says)


def _environment(prefix: Path) -> Named:
    from conda_llmenv.locks.sides import EVERYTHING, INSTALLED
    from conda_llmenv.prefix.locked import read_asked, read_lock

    lock = read_lock(prefix, subdir=_this_platform())
    return Named(str(prefix), lock, EVERYTHING if read_asked(prefix) is not None else INSTALLED)


def _this_platform() -> str:
    from conda_llmenv.host import host_root
    from conda_llmenv.host.system import read_system

    return read_system(host_root(os.environ)).subdir


def _side(named: Named, other: Named, wanted: str | None) -> Side:
    from conda_llmenv.locks.sides import Side

    return Side(named.lock, _platform(named, other, wanted), named.says)


def _platform(named: Named, other: Named, wanted: str | None) -> LockedPlatform:
    """Return the part that is compared: as asked, else the only one, else the other side's, else this machine's."""
    known = named.lock.platforms
    if len(known) == 1 and (wanted is None or Part.PLATFORM not in named.says):
        return known[0]
    only = other.lock.platforms[0].subdir if len(other.lock.platforms) == 1 else None
    subdir = wanted or (only if only and named.lock.platform(only) else _this_platform())
    found = named.lock.platform(subdir)
    if found is None:
        names = ", ".join(platform.subdir for platform in known)
        raise InputError(f"{named.label} has {names} and no {subdir}", hint="choose one with --platform")
    return found
