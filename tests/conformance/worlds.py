"""The channels a case may ask: where they are, and what they hold."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from conda_llmenv.model import Record
from tests.conformance.cases import plain

SMALL = Path(__file__).with_name("small.yml")
NOWHERE = "nowhere"
"""The channel that is in no world."""

SECONDS_END = 253_402_300_799
"""Repodata holds seconds or milliseconds; conda takes what would lie beyond the year 9999 for milliseconds."""


class Row(Struct, frozen=True, forbid_unknown_fields=True, rename={"is_": "is"}):
    """A package of a small channel; only its metadata exists.

    Attributes:
        is_: ``name version build``; the digits after the last underscore of the build are its number.
        number: build number, where it is not the build's last digits.
        date: day of the build; None for repodata without one.
        archive: file format.
    """

    is_: str
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()
    features: str = ""
    noarch: Literal["generic", "python"] | None = None
    subdir: str = ""
    number: int | None = None
    date: dt.date | None = dt.date(2025, 1, 1)
    archive: Literal[".conda", ".tar.bz2"] = ".conda"

    @property
    def folder(self) -> str:
        """The subdir its entry stands in."""
        return self.subdir or ("noarch" if self.noarch else "linux-64")

    @property
    def file_name(self) -> str:
        """The name of its archive."""
        return self.is_.replace(" ", "-") + self.archive

    def entry(self) -> dict[str, Any]:
        """Return its entry in repodata, with made-up but steady hashes and sizes."""
        name, version, build = self.is_.split()
        tail = build.rpartition("_")[2]
        seed = f"{self.folder}/{self.file_name}".encode()
        entry: dict[str, Any] = {
            "name": name,
            "version": version,
            "build": build,
            "build_number": self.number if self.number is not None else int(tail) if tail.isdigit() else 0,
            "subdir": self.folder,
            "depends": self.depends,
            "constrains": self.constrains,
            "sha256": hashlib.sha256(seed).hexdigest(),
            "md5": hashlib.md5(seed, usedforsecurity=False).hexdigest(),
            "size": len(seed),
        }
        if self.features:
            entry["track_features"] = self.features
        if self.noarch:
            entry["noarch"] = self.noarch
        if self.date:
            moment = dt.datetime(self.date.year, self.date.month, self.date.day, tzinfo=dt.timezone.utc)
            entry["timestamp"] = int(moment.timestamp()) * 1000
        return entry


class SmallChannel(Struct, frozen=True, forbid_unknown_fields=True):
    """A small channel: its packages, the folders it has even without any, and text that stands in one instead."""

    why: str
    packages: tuple[Row, ...] = ()
    subdirs: tuple[str, ...] = ("linux-64", "noarch")
    instead: Mapping[str, str] = {}

    def write(self, folder: Path) -> None:
        """Write its repodata."""
        for subdir in sorted({*self.subdirs, *(row.folder for row in self.packages)}):
            rows = [row for row in self.packages if row.folder == subdir]
            text = self.instead.get(subdir) or json.dumps(
                {
                    "info": {"subdir": subdir},
                    "packages": _entries(row for row in rows if row.archive == ".tar.bz2"),
                    "packages.conda": _entries(row for row in rows if row.archive == ".conda"),
                    "repodata_version": 1,
                }
            )
            (folder / subdir).mkdir(parents=True)
            (folder / subdir / "repodata.json").write_text(text, encoding="utf-8")


def _entries(rows: Iterable[Row]) -> dict[str, Any]:
    return {row.file_name: row.entry() for row in rows}


def small_channels() -> dict[str, SmallChannel]:
    """Return the table of small channels."""
    return msgspec.convert(plain(SMALL), dict[str, SmallChannel])


def write_small(folder: Path) -> Path:
    """Write every small channel below ``folder``."""
    for name, channel in small_channels().items():
        channel.write(folder / name)
    return folder


@dataclass(frozen=True)
class Place:
    """A world as it lies on this disk.

    Attributes:
        root: the folder of its channels; a channel's name is its path below.
        subdir: the platform asked for where a case does not say.
        words: what ``${...}`` in a case stands for.
    """

    root: Path
    subdir: str = "linux-64"
    words: Mapping[str, str] = field(default_factory=dict)

    def url(self, channel: str) -> str:
        """Return the address of a channel."""
        return (self.root / channel).as_uri()

    def filled(self, text: str) -> str:
        """Return a text of a case with this world's words in it."""
        return string.Template(text).substitute(self.words) if self.words else text

    def record(self, line: str) -> Record:
        """Return the record that ``name version build channel`` means."""
        name, version, build, channel = self.filled(line).split()
        stem = f"{name}-{version}-{build}"
        found = [
            record
            for subdir in (self.subdir, "noarch")
            for file_name in (f"{stem}.conda", f"{stem}.tar.bz2")
            if (record := self.published(f"{self.url(channel)}/{subdir}/{file_name}"))
        ]
        if len(found) != 1:
            raise LookupError(f"{line!r} is {len(found)} records")
        return found[0]

    def published(self, url: str) -> Record | None:
        """Return what repodata says about the package at an address, read without any engine."""
        channel, subdir, file_name = url.rsplit("/", 2)
        folder = Path(unquote(urlsplit(channel).path))
        entry = _repodata(folder / subdir / "repodata.json").get(file_name)
        if entry is None:
            return None
        return Record(
            name=entry["name"],
            version=entry["version"],
            build=entry["build"],
            build_number=entry["build_number"],
            subdir=entry["subdir"],
            url=url,
            channel=channel,
            file_name=file_name,
            sha256=entry.get("sha256"),
            md5=entry.get("md5"),
            size=entry.get("size"),
            timestamp=_milliseconds(entry.get("timestamp")),
            depends=tuple(entry.get("depends", ())),
            constrains=tuple(entry.get("constrains", ())),
            noarch=entry.get("noarch"),
            license=entry.get("license"),
            track_features=tuple(entry.get("track_features", "").split()),
            python_site_packages_path=entry.get("python_site_packages_path"),
        )

    def names(self, channels: Iterable[str], subdir: str) -> frozenset[str]:
        """Return the names of all packages that channels have, and of those that these ask for."""
        files = (
            self.root / channel / folder / "repodata.json" for channel in channels for folder in (subdir, "noarch")
        )
        entries = [entry for file in files for entry in _repodata(file).values()]
        asked = (text for entry in entries for key in ("depends", "constrains") for text in entry.get(key, ()))
        return frozenset(entry["name"] for entry in entries) | {text.split()[0] for text in asked}


@cache
def _repodata(file: Path) -> Mapping[str, Any]:
    try:
        loaded = json.loads(file.read_bytes())
    except (OSError, json.JSONDecodeError):
        return {}
    return {**loaded.get("packages", {}), **loaded.get("packages.conda", {})}


def _milliseconds(timestamp: int | None) -> int | None:
    if timestamp is None:
        return None
    return timestamp * 1000 if timestamp <= SECONDS_END else timestamp
