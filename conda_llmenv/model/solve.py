"""The conda side of a plan: what an engine is asked and what it answers, with no global default anywhere."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from conda_llmenv.model.host import VirtualPackage


class Channel(Struct, frozen=True):
    """A channel of a request.

    Attributes:
        name: as written in a fragment (``conda-forge``), masked when shown.
        url: base URL it resolves to, without a trailing slash; may carry credentials, so never show or write it
            without :mod:`conda_llmenv.redact`.
    """

    name: str
    url: str


SECONDS_END = 253_402_300_799
"""Repodata holds seconds or milliseconds; as conda does, what would lie beyond the year 9999 is milliseconds."""


class Record(Struct, frozen=True):
    """One conda package record, engine-neutral.

    ``sha256`` and ``md5`` are lower-case hex or None, ``timestamp`` is milliseconds since the epoch, ``size`` is
    bytes, ``noarch`` is None, ``python`` or ``generic``; ``url`` may carry credentials and ``channel`` is the channel's
    base URL.
    """

    name: str
    version: str
    build: str
    build_number: int
    subdir: str
    url: str
    channel: str
    file_name: str
    sha256: str | None = None
    md5: str | None = None
    size: int | None = None
    timestamp: int | None = None
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()
    noarch: str | None = None
    license: str | None = None
    track_features: tuple[str, ...] = ()
    python_site_packages_path: str | None = None
    purls: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return ``name version build``."""
        return f"{self.name} {self.version} {self.build}"

    @property
    def repodata_timestamp(self) -> int | None:
        """The timestamp as repodata holds it: before 1978 in seconds, as its milliseconds would be read as seconds."""
        if self.timestamp is None or self.timestamp > SECONDS_END:
            return self.timestamp
        return self.timestamp // 1000


class SolveRequest(Struct, frozen=True):
    """Everything a solve depends on.

    Attributes:
        specs: MatchSpecs in the composed spelling.
        channels: highest priority first.
        subdirs: such as ``("linux-64", "noarch")``.
        channel_priority: ``strict``, ``flexible`` or ``disabled``.
        virtual_packages: what the target machine offers.
        constraints: MatchSpecs that hold if the package is there at all.
        exclude_newer: ignore records newer than this.
        locked: records preferred over others where they fit.
        repodata_cache: folder to keep repodata in.
        offline: use cached repodata only.
    """

    specs: tuple[str, ...]
    channels: tuple[Channel, ...]
    subdirs: tuple[str, ...]
    virtual_packages: tuple[VirtualPackage, ...]
    channel_priority: str = "strict"
    constraints: tuple[str, ...] = ()
    exclude_newer: dt.datetime | None = None
    locked: tuple[Record, ...] = ()
    repodata_cache: Path | None = None
    offline: bool = False


class Solution(Struct, frozen=True):
    """What an engine chose: every record of the environment, sorted by name."""

    records: tuple[Record, ...]
    engine: str
    seconds: float

    def record(self, name: str) -> Record | None:
        """Return the chosen record of a package, or None."""
        return next((record for record in self.records if record.name == name), None)


class InstallRequest(Struct, frozen=True):
    """Link ``records`` into ``prefix``.

    Attributes:
        package_cache: folder of downloaded and extracted packages.
        requested: MatchSpecs the person asked for, recorded in ``conda-meta`` as conda does.
        offline: never open a network connection.
        given_up: asked every now and then whether the work has become pointless.
    """

    records: tuple[Record, ...]
    prefix: Path
    package_cache: Path
    requested: tuple[str, ...] = ()
    subdir: str = "linux-64"
    offline: bool = False
    given_up: Callable[[], bool] | None = None
