"""``RECORD``: what pip, uv and their kin noted of the files of each distribution they installed."""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from conda_llmenv.plain_files import read_plain
from conda_llmenv.prefix.integrity.model import Owner, Recorded

_RECORD = re.compile(r"(?P<site>(?:.*/)?site-packages)/(?P<name>[^/]+?)-(?P<version>[^/-]+)\.dist-info/RECORD")
_COLUMNS = 3
_COMMAND_SECTIONS = ("[console_scripts]", "[gui_scripts]")

ALGORITHMS = frozenset({"sha256", "sha384", "sha512"})
"""Those the wheel specification allows and that nobody can forge."""


def record_files(paths: Iterable[str]) -> tuple[str, ...]:
    """Return which of these paths are the ``RECORD`` of a distribution that is installed, not carried along by one."""
    return tuple(sorted(path for path in paths if path.endswith(".dist-info/RECORD") and _RECORD.fullmatch(path)))


def distribution_of(path: str) -> tuple[str, str] | None:
    """Return the name and version of the distribution that a path is the ``RECORD`` of; None for any other path."""
    match = _RECORD.fullmatch(path) if path.endswith(".dist-info/RECORD") else None
    return (match["name"], match["version"]) if match else None


def read_record(prefix: Path, path: str) -> tuple[tuple[str, Recorded], ...]:
    """Return each path of a distribution, relative to the prefix, and what is noted of it.

    What lies outside the prefix is left out.

    Raises:
        ValueError: it is no list of files; the message says why.
        OSError: it cannot be read.
    """
    match = _RECORD.fullmatch(path)
    if match is None:
        raise ValueError("its folder has no name and version")
    owner = Owner("pip", match["name"], match["version"])
    text = read_plain(Path(prefix, path)).decode("utf-8")
    commands = _commands(Path(prefix, path).with_name("entry_points.txt"))
    try:
        return tuple(_rows(text, match["site"], prefix, owner, commands))
    except csv.Error as error:
        raise ValueError(str(error)) from error


def _commands(file: Path) -> frozenset[str]:
    """Return the paths of the commands that an installer writes for a distribution, and makes executable."""
    found, section = set(), ""
    for line in read_plain(file).decode("utf-8", "replace").splitlines() if file.is_file() else ():
        if line.startswith("["):
            section = line.strip()
        elif section in _COMMAND_SECTIONS and "=" in line:
            found.add(f"bin/{line.partition('=')[0].strip()}")
    return frozenset(found)


def _rows(text: str, site: str, prefix: Path, owner: Owner, commands: frozenset[str]) -> Iterator[tuple[str, Recorded]]:
    for row in csv.reader(text.splitlines()):
        if not row:
            continue
        name, noted, size = (*row, "", "")[:_COLUMNS]
        path = _inside(name, site, prefix)
        if path is None:
            continue
        algorithm, checksum = _checksum(noted)
        yield (
            path,
            Recorded(
                owner,
                checksum=checksum,
                algorithm=algorithm,
                size=int(size) if size.isdecimal() else None,
                command=path in commands,
                cached=True,
            ),
        )


def _inside(name: str, site: str, prefix: Path) -> str | None:
    """Return a row's path relative to the prefix, or None for one outside."""
    if name.startswith("/"):
        start = f"{prefix}/"
        return posixpath.normpath(name[len(start) :]) if name.startswith(start) else None
    path = f"{site}/{name}"
    if "./" in name or "//" in name:
        path = posixpath.normpath(path)
    return None if path.startswith(("../", "/")) else path


def _checksum(noted: str) -> tuple[str, str]:
    """Return algorithm and hex digest of ``sha256=urlsafe-base64-without-padding``; no digest where it is none."""
    algorithm, _, text = noted.partition("=")
    if algorithm not in ALGORITHMS:
        return "sha256", ""
    try:
        raw = base64.b64decode(f"{text}{'=' * (-len(text) % 4)}", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return algorithm, ""
    return algorithm, raw.hex() if len(raw) == hashlib.new(algorithm).digest_size else ""
