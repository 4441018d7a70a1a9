"""``pixi.lock``, versions 1 to 7, read by rattler's own reader; :mod:`conda_llmenv.locks.pixi` writes version 6.

The library reads a file, so the text is given to it as one that lies in memory. It keeps no lines, takes hashes of any
two packages of one name, and does not tell indexes: those are looked up in the YAML tree, which is read first and keeps
the caps on what a text may hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import rattler
from msgspec.structs import replace
from rattler.exceptions import ParseCondaLockError

from conda_llmenv.compose.yamltree import Mapping, Scalar
from conda_llmenv.engines.rattler.convert import to_record
from conda_llmenv.locks.addresses import channel_of, clean
from conda_llmenv.locks.entries import Entries, left_out
from conda_llmenv.locks.header import read_head
from conda_llmenv.locks.pip_entries import Entry, git_entry
from conda_llmenv.locks.pixi import DIRECT, ENVIRONMENT, options_of
from conda_llmenv.locks.yaml_entries import Fields, read_fields
from conda_llmenv.model import Channel, Lock
from conda_llmenv.redact import mask

OLD = ("1", "2", "3")
"""Versions with one list of packages for everything; they call a noarch package one of its platform."""

_LOCATIONS = ("conda", "pypi", "conda_source", "url")
_WORD = re.compile(r"[^\s'\"`,]{8,}")


def read(text: str, display: str) -> Lock:
    """Return what a lockfile says of its environment ``default``, or of its only one.

    The names of other environments are among the facts.

    Raises:
        FileFormatError: it is no lockfile the library reads, or entries are wrong.
    """
    entries = Entries(display)
    root = read_fields(text, entries)
    lines = _Lines(root, entries)
    entries.raise_if_any()
    environments = _environments(text, root, entries)
    name = _chosen(sorted(environments), root, entries)
    environment, said = environments[name], root.fields("environments").fields(name)
    channels = tuple(_channels(environment))
    entries.only_from(channels)
    subdirs = _read_packages(environment, entries, lines)
    head = read_head(text)
    return Lock(
        entries.platforms(sorted(subdirs)),
        channels=channels,
        specs=head.specs,
        pip_options=options_of(_texts(said, "indexes"), _pages(said)),
        facts=left_out(head.facts, (f"environment {other}" for other in sorted(environments) if other != name)),
        input_hash=head.input_hash,
        lines=entries.lines,
    )


class _Lines:
    """Where in the file each package stands; on the way, its hashes are checked."""

    def __init__(self, root: Fields, entries: Entries) -> None:
        self.old = root.text("version") in OLD
        self._found: dict[str, int] = {}
        for node in root.items("package" if self.old else "packages"):
            package = Fields(entries, node, "a package")
            location = next((text for key in _LOCATIONS if (text := package.text(key))), "")
            self._found[location] = self._found[_file_name(location)] = package.line
            hashes = package.fields("hash") if self.old else package
            entries.digests(
                package.line, mask(_file_name(location)), {kind: hashes.text(kind) for kind in ("sha256", "md5")}
            )

    def of(self, location: str) -> int:
        """Return the line of a package, 1 where the library spells its location too differently."""
        return self._found.get(location) or self._found.get(_file_name(location), 1)


def _environments(text: str, root: Fields, entries: Entries) -> dict[str, Any]:
    with _in_memory(text) as path:
        try:
            return dict(rattler.LockFile.from_path(path).environments())
        except ParseCondaLockError as error:
            reason = " ".join(str(error).split())
            entries.problem(
                _line_of_words(text, reason) or root.line_of("version"),
                f"rattler cannot read this lockfile: {reason}",
                hint="lock again with a pixi that is as old as or older than the installed py-rattler",
            )
    entries.raise_if_any()
    return {}


@contextmanager
def _in_memory(text: str) -> Iterator[Path]:
    """Give a text as a file that only this process has."""
    number = os.memfd_create("llmenv-lock", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(number), "wb") as file:
            file.write(text.encode())
        yield Path(f"/proc/self/fd/{number}")
    finally:
        os.close(number)


def _line_of_words(text: str, reason: str) -> int | None:
    """Return the first line with a long word of the library's reason, such as an address; None without one."""
    for word in _WORD.findall(reason):
        position = text.find(word)
        if position >= 0:
            return text.count("\n", 0, position) + 1
    return None


def _chosen(names: list[str], root: Fields, entries: Entries) -> str:
    if ENVIRONMENT in names:
        return ENVIRONMENT
    if len(names) != 1:
        entries.problem(
            root.line_of("environments"),
            f"no environment is called {ENVIRONMENT!r}; there are " + (", ".join(map(repr, names)) or "none"),
            hint="keep one environment in the lockfile",
        )
    entries.raise_if_any()
    return names[0]


def _channels(environment: Any) -> Iterator[Channel]:
    for channel in environment.channels():
        yield from channel_of(str(channel))


def _read_packages(environment: Any, entries: Entries, lines: _Lines) -> set[str]:
    """Add the packages of every platform; return the platforms' subdirs."""
    subdirs: set[str] = set()
    for platform in environment.platforms():
        subdir = str(platform.subdir)
        if subdir in subdirs:
            entries.problem(1, f"two platforms are for {subdir}", hint="keep one of them in the lockfile")
            continue
        subdirs.add(subdir)
        for package in environment.packages(platform) or ():
            _read_package(package, subdir, entries, lines)
    return subdirs


def _read_package(package: Any, platform: str, entries: Entries, lines: _Lines) -> None:
    line = lines.of(package.location)
    if isinstance(package, rattler.lock.package.PypiLockedPackage):
        _read_pypi(package, platform, entries, line)
    elif hasattr(package, "repo_data_record"):
        record = to_record(package.repo_data_record())
        address = entries.address(line, package.location)
        if address is None:
            return
        subdir = address.subdir if lines.old and address.subdir else record.subdir
        clean_record = replace(record, url=address.url, channel=address.channel, subdir=subdir)
        entries.record(platform, clean_record, line)
    else:
        entries.problem(line, f"{package.name} is to be built from {mask(package.location)!r}, not from a channel")


def _read_pypi(package: Any, platform: str, entries: Entries, line: int) -> None:
    name, location, hashes = package.name, package.location, package.hashes
    url = clean(location.removeprefix(DIRECT))
    if url.startswith("git+"):
        entry = git_entry(name, package.version, url)
    elif url.startswith(("https://", "http://", "file://")):
        sha256, md5 = (hashes.sha256, hashes.md5) if hashes else (None, None)
        direct = location.startswith(DIRECT)
        entry = Entry(name, package.version, url, _hex(sha256), _hex(md5), direct=direct)
    else:
        entry = None
    if entry is None:
        entries.problem(line, f"{name} is to be taken from {mask(location)!r}, which is no file or commit elsewhere")
    else:
        entries.pip(platform, entry.package(), line)


def _hex(digest: bytes | None) -> str | None:
    return digest.hex() if digest else None


def _texts(fields: Fields, key: str) -> list[str]:
    return [clean(node.value) for node in fields.items(key) if isinstance(node, Scalar)]


def _pages(environment: Fields) -> Iterator[str]:
    for node in environment.items("find-links"):
        if isinstance(node, Mapping) and "url" in node.items and isinstance(node.items["url"][1], Scalar):
            yield clean(node.items["url"][1].value)


def _file_name(location: str) -> str:
    return unquote(location.rpartition("/")[2])
