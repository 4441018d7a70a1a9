"""Option lines of a pip section as a lock keeps them: those that mean the same on another machine."""

from __future__ import annotations

from collections.abc import Iterable

from conda_llmenv.redact import strip

_FILES = ("--constraint", "--find-links")
"""Options that may name a file or a folder."""


def portable(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines without secrets, files and folders.

    A constraint file has done its work when every version is pinned, and a folder of wheels is on this machine only: a
    lock that named either would hold a path of somebody's home, and could not be read elsewhere.
    """
    return tuple(strip(line) for line in lines if not _is_local(line))


def _is_local(line: str) -> bool:
    option, _, value = line.partition(" ")
    return option in _FILES and "://" not in value
