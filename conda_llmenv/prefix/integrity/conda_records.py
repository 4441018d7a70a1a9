"""``conda-meta``: which packages are there and what conda, mamba or rattler noted of each of their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from conda_llmenv.prefix.conda_meta import decode_records
from conda_llmenv.prefix.integrity.model import Owner, Package, Recorded

ENTRY_POINTS = ("unix_python_entry_point", "windows_python_entry_point_script", "windows_python_entry_point_exe")
_FOLDER = "directory"
_LINKED = 2
"""conda's number for a package whose files are symbolic links into the cache (``always_softlink``)."""


class _Path(Struct):
    path: str = msgspec.field(name="_path")
    path_type: str | None = None
    sha256: str | None = None
    sha256_in_prefix: str | None = None
    size_in_bytes: int | None = None
    prefix_placeholder: str | None = None
    file_mode: str | None = None


class _Paths(Struct):
    paths: tuple[_Path, ...] = ()


class _Link(Struct):
    type: int | str | None = None


class CondaRecord(Struct):
    """The parts of a file in ``conda-meta`` that say which package it is and what it put where."""

    name: str
    version: str
    build: str = ""
    subdir: str = ""
    sha256: str | None = None
    md5: str | None = None
    noarch: str | bool | None = None
    files: tuple[str, ...] = ()
    paths_data: _Paths | None = None
    link: _Link | None = None
    python_site_packages_path: str | None = None

    @property
    def package(self) -> Package:
        """Which package it is."""
        return Package(self.name, self.version, self.build, self.subdir, self.sha256 or self.md5 or "")


def read_conda_records(prefix: Path) -> tuple[CondaRecord, ...]:
    """Return the records of an environment, sorted by name.

    Raises:
        PrefixError: a record is broken; the message names the file.
    """
    records = decode_records(prefix, CondaRecord)
    return tuple(sorted(records, key=lambda record: (record.name, record.version, record.build)))


def recorded_paths(records: Iterable[CondaRecord]) -> Iterator[tuple[str, Recorded]]:
    """Yield each path that a package has in an environment, relative to the prefix, and what is noted of it."""
    every = tuple(records)
    site_packages = next((_site_packages(record) for record in every if record.name == "python"), "")
    for record in every:
        yield from _of_package(record, site_packages)


def _of_package(record: CondaRecord, site_packages: str) -> Iterator[tuple[str, Recorded]]:
    owner = Owner("conda", record.name, record.version)
    cached = record.link is not None and record.link.type in (_LINKED, "softlink")
    seen = set()
    for item in record.paths_data.paths if record.paths_data else ():
        path = _installed_at(item.path, record, site_packages)
        seen.add(path)
        if item.path_type != _FOLDER:
            yield path, _recorded(item, owner, cached=cached)
    for path in record.files:
        if path not in seen:
            yield path, Recorded(owner, link=None)


def _recorded(item: _Path, owner: Owner, *, cached: bool) -> Recorded:
    """Return what is noted of a path.

    The size of a text that holds its prefix is not taken: rattler notes the one on the disk, conda the one in the
    package. A soft link's checksum and size are those of what it led to when the package was built. Of a package that
    is linked from the cache conda calls nearly everything a soft link, whatever it has put there.
    """
    placeholder = item.prefix_placeholder or ""
    padded = item.file_mode == "binary"
    link = item.path_type == "softlink"
    if link and cached:
        return Recorded(owner, original=(item.sha256 or "").lower(), link=None, cached=True)
    exact = not link and (padded or not placeholder)
    checksum = item.sha256_in_prefix or ("" if placeholder else item.sha256)
    return Recorded(
        owner,
        checksum=("" if link else checksum or "").lower(),
        original=(item.sha256 or "").lower(),
        size=item.size_in_bytes if exact else None,
        link=link,
        command=item.path_type in ENTRY_POINTS,
        placeholder=placeholder,
        padded=padded,
        cached=cached,
    )


def _installed_at(path: str, record: CondaRecord, site_packages: str) -> str:
    """Return where a path of a package is: conda notes those of a noarch package as they are in the archive."""
    if record.noarch == "python":
        if site_packages and path.startswith("site-packages/"):
            return f"{site_packages}/{path.partition('/')[2]}"
        if path.startswith("python-scripts/"):
            return f"bin/{path.partition('/')[2]}"
    return path


def _site_packages(python: CondaRecord) -> str:
    return python.python_site_packages_path or f"lib/python{'.'.join(python.version.split('.')[:2])}/site-packages"


def holds_conda(records: Iterable[CondaRecord]) -> bool:
    """Return whether conda itself is one of the packages."""
    return any(record.name == "conda" for record in records)


def to_json(package: Package) -> list[Any]:
    """Return what counts of a package."""
    return [package.name, package.version, package.build, package.subdir, package.checksum]
