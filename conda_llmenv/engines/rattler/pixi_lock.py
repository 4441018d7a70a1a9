"""``pixi.lock``, versions 1 to 7, read by rattler's own reader; :mod:`conda_llmenv.locks.pixi` writes version 6.

The library reads a file, so the text is given to it as one that lies in memory. It keeps no lines, takes hashes of any
two packages of one name, and does not tell indexes: those are looked up in the YAML tree, which is read first and keeps
the caps on what a text may hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import rattler
from msgspec import Struct
from msgspec.structs import replace
from rattler.exceptions import ParseCondaLockError

from conda_llmenv.compose.yamltree import Node, Scalar
from conda_llmenv.engines.rattler.convert import to_record
from conda_llmenv.locks.addresses import channel_of, clean, has_blank, noarch_kind
from conda_llmenv.locks.entries import DIGITS, NOARCH, Entries
from conda_llmenv.locks.facts import left_out
from conda_llmenv.locks.header import read_head
from conda_llmenv.locks.pip_entries import Entry, git_entry
from conda_llmenv.locks.pixi import DIRECT, ENVIRONMENT, options_of
from conda_llmenv.locks.yaml_entries import Fields, read_fields
from conda_llmenv.model import Channel, Lock
from conda_llmenv.redact import mask

OLD = ("1", "2", "3")
"""Versions with one list of packages for everything."""

READ = (*OLD, "4", "5", "6", "7")
"""Versions that py-rattler 0.28 reads."""

BROKEN = "the file may be cut short or edited: take it from where it came from again, or lock again"
NEWER = "lock again with a pixi that is as old as or older than the installed py-rattler"

FILES = (".whl", ".tar.gz", ".zip")
"""How files of distributions end; a folder would be built from what lies in it today."""

_LOCATIONS = ("conda", "pypi", "conda_source", "url", "path")
_PATH = re.compile(r"[^\s'\"`,]+/[^\s'\"`,]+")


def read(text: str, display: str) -> Lock:
    """Return what a lockfile says of its environment ``default``, or of its only one.

    The names of other environments are among the facts.

    Raises:
        FileFormatError: it is no lockfile the library reads, or entries are wrong.
    """
    entries = Entries(display)
    root = read_fields(text, entries)
    packages = _Packages(root, entries)
    entries.raise_if_any()
    environments = _environments(text, root, packages, entries)
    name = _chosen(sorted(environments), root, entries)
    environment, said = environments[name], root.fields("environments").fields(name)
    channels = tuple(_channels(environment))
    entries.only_from(channels)
    options = options_of(tuple(_indexes(said, entries)), tuple(_pages(said, entries)))
    subdirs = _read_packages(environment, root, packages, entries)
    head = read_head(text)
    return Lock(
        entries.platforms(sorted(subdirs)),
        channels=channels,
        specs=head.specs,
        pip_options=options,
        facts=left_out(head.facts, (f"environment {other}" for other in sorted(environments) if other != name)),
        input_hash=head.input_hash,
        lines=entries.lines,
    )


class _Told(Struct, frozen=True):
    """What the file says of a package that the library does not pass on reliably."""

    line: int
    hashes: Mapping[str, str]


class _Packages:
    """What the file says of each package; its hashes are checked on the way."""

    def __init__(self, root: Fields, entries: Entries) -> None:
        self.addresses: list[tuple[str, int]] = []
        self._told: dict[str, _Told] = {}
        old = root.text("version") in OLD
        for node in root.items("package" if old else "packages"):
            package = Fields(entries, node, "a package")
            location = next((text for key in _LOCATIONS if (text := package.text(key))), "")
            hashes = package.fields("hash") if old else package
            name = mask(package.text("name") or _file_name(location))
            found = entries.digests(package.line, name, {kind: hashes.text(kind) for kind in DIGITS})
            told = _Told(package.line, found)
            if "://" in location and (package.text("kind") or package.text("manager") or "conda") == "conda":
                self.addresses += [(location, package.line)] if "pypi" not in package else []
            for key in (_file_name(location), location, location.rpartition(" @ ")[2]):  # name[hash] @ path
                self._told[key] = told

    def of(self, location: str) -> _Told:
        """Return what is said of a package; nothing, in line 1, where the library spells its location otherwise."""
        return self._told.get(location) or self._told.get(_file_name(location)) or _Told(1, {})


def _environments(text: str, root: Fields, packages: _Packages, entries: Entries) -> dict[str, Any]:
    """Return the environments as the library reads them; where it cannot, also say which addresses are none."""
    with _in_memory(text) as path:
        try:
            return dict(rattler.LockFile.from_path(path).environments())
        except ParseCondaLockError as error:
            for location, line in packages.addresses:
                entries.address(line, location)
            reason = " ".join(str(error).split())
            entries.problem(
                _line_of_path(text, reason) or root.line_of("version"),
                f"rattler cannot read this lockfile: {reason}",
                hint=BROKEN if root.text("version") in READ else NEWER,
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


def _line_of_path(text: str, reason: str) -> int | None:
    """Return the first line with an address or path of the library's reason; None without one."""
    for word in _PATH.findall(reason):
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


def _read_packages(environment: Any, root: Fields, packages: _Packages, entries: Entries) -> set[str]:
    """Add the packages of every platform; return the platforms' subdirs."""
    subdirs: set[str] = set()
    for platform in environment.platforms():
        subdir = str(platform.subdir)
        if subdir in subdirs:
            entries.problem(root.line_of("platforms"), f"two platforms are for {subdir}", hint="keep one of them")
            continue
        subdirs.add(subdir)
        for package in environment.packages(platform) or ():
            told = packages.of(package.location)
            if hasattr(package, "repo_data_record"):
                _read_conda(package, subdir, told, entries)
            elif hasattr(package, "requires_dist"):
                _read_pypi(package, subdir, told, entries)
            else:
                location = mask(package.location)
                text = f"{package.name} is built from sources at {location!r}: a lock gives packages of channels only"
                entries.problem(told.line, text)
    if not subdirs:
        entries.problem(root.line_of("environments"), "the environment is for no platform")
    return subdirs


def _read_conda(package: Any, platform: str, told: _Told, entries: Entries) -> None:
    address = entries.address(told.line, package.location)
    if address is None:
        return
    record = to_record(package.repo_data_record())
    if address.subdir == NOARCH:  # up to version 4 its subdir was the platform's, and its kind often missing
        record = replace(record, subdir=NOARCH, noarch=record.noarch or noarch_kind(NOARCH, record.build))
    entries.record(platform, replace(record, url=address.url, channel=address.channel), told.line)


def _read_pypi(package: Any, platform: str, told: _Told, entries: Entries) -> None:
    name, location = package.name, package.location
    url = clean(location.removeprefix(DIRECT))
    if url.startswith("/") and url.endswith(FILES):  # the library takes the scheme from a file on this machine
        url = f"file://{quote(url)}"
    if url.startswith(("https://", "http://", "file://")):
        direct = location.startswith(DIRECT)
        entry: Entry | None = Entry(name, package.version, url, **told.hashes, direct=direct)
    else:
        entry = git_entry(name, package.version, url)
    if entry is None:
        place = f"{name} lies at {mask(location)!r}"
        entries.problem(told.line, f"{place}: a lock gives files with an address and commits only")
    else:
        depends = tuple(map(str, package.requires_dist))
        entries.pip(platform, replace(entry.package(), depends=depends), told.line)


def _indexes(environment: Fields, entries: Entries) -> Iterator[str]:
    for node in environment.items("indexes"):
        yield from _index(node, entries)


def _pages(environment: Fields, entries: Entries) -> Iterator[str]:
    """Yield the pages of links; those of a folder (``path``) lie on the machine that wrote the file."""
    for node in environment.items("find-links"):
        page = Fields(entries, node, "an entry of `find-links`").node("url")
        if page is not None:
            yield from _index(page, entries)


def _index(node: Node, entries: Entries) -> Iterator[str]:
    url = clean(node.value) if isinstance(node, Scalar) else ""
    if not url or has_blank(url):
        entries.problem(node.line, "an index is no address")
    else:
        yield url


def _file_name(location: str) -> str:
    return unquote(location.rpartition("/")[2])
