"""The repodata of a request's channels as conda fetched it: read, and narrowed down where a solver could not be told.

A cut-off in time and ``channel::package`` are no arguments of conda's solvers, or not the same to all of them: conda's
own cut-off keeps what is undated, and a solver may look for a named channel at another address than the configured one.
Both become what every solver understands, folders with less in them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import msgspec
from conda.base.constants import REPODATA_FN
from conda.base.context import context
from conda.core.subdir_data import SubdirData

from conda_llmenv.engines.conda import convert
from conda_llmenv.errors import ChannelUnavailable
from conda_llmenv.model import Channel, Record, SolveRequest
from conda_llmenv.redact import mask, strip

_TAIL = 4096


class Repodata(msgspec.Struct):
    """A ``repodata.json``, its entries left as text until one of them is wanted."""

    info: dict[str, Any] = {}
    packages: dict[str, msgspec.Raw] = {}
    conda_packages: dict[str, msgspec.Raw] = msgspec.field(name="packages.conda", default_factory=dict)

    def entry(self, file_name: str) -> dict[str, Any] | None:
        """Return the entry of a package file, or None."""
        raw = self.conda_packages.get(file_name) or self.packages.get(file_name)
        return None if raw is None else msgspec.json.decode(raw, type=dict[str, Any])


class _Dated(msgspec.Struct):
    name: str
    timestamp: float | None = None


class Limits(msgspec.Struct, frozen=True):
    """What has to be left out of channels.

    Attributes:
        newest: milliseconds since the epoch; what is younger or undated goes. None for no limit.
        only: package → positions of the channels it may come from.
    """

    newest: int | None = None
    only: Mapping[str, frozenset[int]] = {}

    def concern(self, position: int) -> bool:
        """Return whether anything has to be left out of the channel at that position."""
        return self.newest is not None or any(position not in allowed for allowed in self.only.values())

    def allow(self, entry: _Dated, position: int) -> bool:
        """Return whether a package may be chosen from the channel at that position."""
        if position not in self.only.get(entry.name, {position}):
            return False
        age = convert.milliseconds(entry.timestamp)
        return self.newest is None or (age is not None and age <= self.newest)


class Sources(msgspec.Struct, frozen=True):
    """The channels a solver is given.

    Attributes:
        request: whose channels they stand for, in the same order.
        urls: their addresses, without credentials.
    """

    request: SolveRequest
    urls: tuple[str, ...]

    def channels(self) -> tuple[Any, ...]:
        """Return them as conda's."""
        return tuple(convert.to_channel(url) for url in self.urls)

    def records(self, packages: Iterable[Any]) -> tuple[Record, ...]:
        """Return a solver's choice, sorted by name, as the channels describe it and without virtual packages.

        Raises:
            ChannelUnavailable: repodata was cut short, which some solvers take for all there is.
        """
        for url, channel in zip(self.urls, self.request.channels, strict=True):
            _check_whole(url, channel, self.request.subdirs)
        positions = {channel.base_url: position for position, channel in reversed(list(enumerate(self.channels())))}
        loaded: dict[tuple[int, str], Repodata] = {}
        found = []
        for package in packages:
            if package.name.startswith("__"):
                continue
            position = positions.get(package.channel.base_url)
            if position is None:
                found.append(convert.from_package(package, package.channel.base_url or ""))
                continue
            key = (position, package.subdir)
            if key not in loaded:
                loaded[key] = read(cached(self.urls[position], package.subdir))
            found.append(_record(package, loaded[key], self.request.channels[position]))
        return tuple(sorted(found, key=lambda record: record.name))


def _record(package: Any, repodata: Repodata, channel: Channel) -> Record:
    base = strip(channel.url).rstrip("/")
    entry = repodata.entry(package.fn)
    if entry is None:
        return convert.from_package(package, base)
    folder = urljoin(f"{base}/{package.subdir}/", repodata.info.get("base_url") or "").rstrip("/")
    return convert.from_entry(entry, package.subdir, package.fn, base, f"{folder}/{package.fn}")


@contextlib.contextmanager
def sources(request: SolveRequest, limits: Limits, folder: Path) -> Iterator[Sources]:
    """Return the channels to solve with; those that something is left out of are written below ``folder``."""
    urls = []
    narrowed = []
    for position, channel in enumerate(request.channels):
        if not limits.concern(position):
            urls.append(strip(channel.url))
            continue
        place = folder / str(position)
        for subdir in request.subdirs:
            _narrow(_fetch(strip(channel.url), subdir), place / subdir, limits, position)
        narrowed.append(place.as_uri())
        urls.append(place.as_uri())
    try:
        yield Sources(request, tuple(urls))
    finally:
        for url in narrowed:
            for subdir in request.subdirs:
                _forget(url, subdir)


def _narrow(path: Path, folder: Path, limits: Limits, position: int) -> None:
    """Write what is allowed of a repodata file."""
    full = read(path)
    kept = Repodata(
        full.info, _allowed(full.packages, limits, position), _allowed(full.conda_packages, limits, position)
    )
    folder.mkdir(parents=True)
    (folder / REPODATA_FN).write_bytes(msgspec.json.encode(kept))


def _allowed(entries: Mapping[str, msgspec.Raw], limits: Limits, position: int) -> dict[str, msgspec.Raw]:
    decoder = msgspec.json.Decoder(_Dated)
    return {name: raw for name, raw in entries.items() if limits.allow(decoder.decode(raw), position)}


def read(path: Path) -> Repodata:
    """Return the content of a repodata file; of a channel without that folder conda keeps an empty one.

    Raises:
        msgspec.MsgspecError: it is not what it should be.
    """
    return msgspec.json.decode(path.read_bytes(), type=Repodata) if path.exists() else Repodata()


def _fetcher(url: str, subdir: str) -> Any:
    return SubdirData(convert.to_channel(f"{url}/{subdir}"), repodata_fn=REPODATA_FN).repo_fetch


def _fetch(url: str, subdir: str) -> Path:
    path, _ = _fetcher(url, subdir).fetch_latest_path()
    return Path(path)


def cached(url: str, subdir: str) -> Path:
    """Return where conda keeps the repodata of a channel's folder."""
    return Path(_fetcher(url, subdir).cache_path_json)


def _forget(url: str, subdir: str) -> None:
    path = cached(url, subdir)
    for leftover in path.parent.glob(f"{path.stem}.*"):
        leftover.unlink(missing_ok=True)


def unreadable(request: SolveRequest) -> Channel | None:
    """Return the first channel whose repodata, as conda has it, is not what it should be."""
    return next((channel for channel in request.channels if not _is_readable(channel, request.subdirs)), None)


def _check_whole(url: str, channel: Channel, subdirs: Iterable[str]) -> None:
    for path in (cached(url, subdir) for subdir in subdirs):
        if path.exists() and not _tail(path).rstrip().endswith(b"}"):
            raise ChannelUnavailable(
                f"channel {mask(channel.name)} has repodata that cannot be read",
                channel=mask(channel.name),
                details=(f"address  {mask(channel.url)}", f"{path} ends in the middle"),
                hint="it is cut short or damaged: try again; for a folder of your own, index it again",
            )


def _tail(path: Path) -> bytes:
    """Return the end of a file, from the last piece on that is not blank."""
    with path.open("rb") as file:
        place = file.seek(0, os.SEEK_END)
        tail = b""
        while place and not tail.strip():
            place = file.seek(max(0, place - _TAIL))
            tail = file.read(_TAIL)
    return tail


def _is_readable(channel: Channel, subdirs: Iterable[str]) -> bool:
    try:
        for subdir in subdirs:
            read(cached(strip(channel.url), subdir))
    except (msgspec.MsgspecError, OSError, ValueError):
        return False
    return True


def check_cached(request: SolveRequest) -> None:
    """Refuse to solve offline without repodata: conda would take the channel for an empty one.

    Raises:
        ChannelUnavailable: nothing of a channel that is not a folder has ever been fetched.
    """
    for channel in request.channels:
        remote = not channel.url.startswith("file:")
        if remote and not any(cached(strip(channel.url), subdir).exists() for subdir in request.subdirs):
            raise ChannelUnavailable(
                f"channel {mask(channel.name)} is not in the repodata cache, and this run is offline",
                channel=mask(channel.name),
                details=(f"address  {mask(channel.url)}",),
                hint="run once without --offline",
            )


def offline_cache(folder: Path) -> str:
    """Return a package cache without packages that shares conda's cached repodata.

    Offline, solvers also choose from the packages in the cache, whichever channel they are from.
    """
    place = folder / "pkgs"
    place.mkdir()
    (place / "urls.txt").touch()
    shared = Path(context.pkgs_dirs[0], "cache")
    if shared.is_dir():
        (place / "cache").symlink_to(shared)
    return str(place)
