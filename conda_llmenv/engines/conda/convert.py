"""Our records, channels and requests in conda's terms and back: the one seam between the two."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conda.exceptions import CondaError, InvalidMatchSpec
from conda.models.channel import Channel as CondaChannel
from conda.models.match_spec import MatchSpec
from conda.models.records import PackageRecord
from msgspec import Struct

from conda_llmenv.errors import InputError
from conda_llmenv.model import Channel, Record
from conda_llmenv.redact import mask, strip

SECONDS_END = 253_402_300_799
"""Repodata holds seconds or milliseconds; as conda does, what would lie beyond the year 9999 is milliseconds."""


class Asked(Struct, frozen=True):
    """A MatchSpec and where its package may come from.

    Attributes:
        spec: conda's MatchSpec, without a channel.
        channels: positions of the channels it named among the request's; None where it named none.
    """

    spec: Any
    channels: frozenset[int] | None = None


def to_spec(text: str) -> Any:
    """Read a MatchSpec.

    Raises:
        InputError: it is none.
    """
    try:
        return MatchSpec(strip(text))
    except (InvalidMatchSpec, CondaError, ValueError) as error:
        raise InputError(
            f"{mask(text)!r} is not a package specification: {mask(str(error)).strip()}",
            hint="write it as in environment.yml, such as `numpy >=2` or `conda-forge::numpy=2.1`",
        ) from None


def to_asked(text: str, channels: Sequence[Channel]) -> Asked:
    """Read a MatchSpec; a channel in it means the request's channel of that name or address.

    The channel is told apart from the rest, since not every solver knows a channel by the address it has here.

    Raises:
        InputError: it is not a MatchSpec, or names a channel the request does not have.
    """
    spec = to_spec(text)
    named = spec.get_raw_value("channel")
    if named is None:
        return Asked(spec)
    found = frozenset(position for position, channel in enumerate(channels) if _is_meant(named, channel))
    if not found:
        raise InputError(
            f"{mask(text)!r} asks for a channel that is not among the channels: "
            + (", ".join(mask(channel.name) for channel in channels) or "there are none"),
            hint="add that channel to `channels:`, below the ones it must not override",
        )
    fields = {name: spec.get_raw_value(name) for name in MatchSpec.FIELD_NAMES if name != "channel"}
    return Asked(MatchSpec(**{name: value for name, value in fields.items() if value is not None}), found)


def _is_meant(named: Any, channel: Channel) -> bool:
    known = {channel.name.rstrip("/"), strip(channel.url).rstrip("/")}
    texts = {str(named)} if isinstance(named, str) else {named.name, named.canonical_name, *named.base_urls}
    return bool(known & {str(text).rstrip("/") for text in texts if text})


def to_channel(url: str) -> Any:
    """Return conda's channel at an address."""
    return CondaChannel(url)


def to_package(record: Record) -> Any:
    """Return our record as conda's, free of credentials: conda writes what it is given to disk."""
    fields = {
        "name": record.name,
        "version": record.version,
        "build": record.build,
        "build_number": record.build_number,
        "subdir": record.subdir,
        "fn": record.file_name,
        "url": strip(record.url),
        "channel": f"{strip(record.channel)}/{record.subdir}",
        "sha256": record.sha256,
        "md5": record.md5,
        "size": record.size,
        "timestamp": record.timestamp,
        "depends": record.depends,
        "constrains": record.constrains,
        "noarch": record.noarch,
        "license": record.license,
        "track_features": record.track_features,
        "python_site_packages_path": record.python_site_packages_path,
    }
    return PackageRecord(**{name: value for name, value in fields.items() if value not in (None, ())})


def from_package(package: Any, channel: str) -> Record:
    """Return a solver's record as ours, for want of the repodata entry it was made from."""
    return from_entry(package.dump(), package.subdir, package.fn, channel, strip(package.url or ""))


def from_entry(entry: Mapping[str, Any], subdir: str, file_name: str, channel: str, url: str) -> Record:
    """Return an entry of repodata as a record.

    Args:
        entry: name → value as in ``repodata.json``.
        subdir: the folder it stands in.
        file_name: the package it is about.
        channel: base URL of its channel.
        url: address of the package.
    """
    return Record(
        name=entry["name"],
        version=entry["version"],
        build=entry["build"],
        build_number=entry["build_number"],
        subdir=subdir,
        url=url,
        channel=channel,
        file_name=file_name,
        sha256=_hex(entry.get("sha256")),
        md5=_hex(entry.get("md5")),
        size=entry.get("size"),
        timestamp=milliseconds(entry.get("timestamp")),
        depends=tuple(entry.get("depends") or ()),
        constrains=tuple(entry.get("constrains") or ()),
        noarch=_noarch(entry.get("noarch")),
        license=entry.get("license"),
        track_features=_words(entry.get("track_features")),
        python_site_packages_path=entry.get("python_site_packages_path"),
        purls=tuple(sorted(entry.get("purls") or ())),
    )


def milliseconds(timestamp: float | None) -> int | None:
    """Return a time of repodata in milliseconds; 0 is none."""
    if not timestamp:
        return None
    return round(timestamp * 1000 if timestamp <= SECONDS_END else timestamp)


def cutoff_milliseconds(moment: dt.datetime) -> int:
    """Return a cut-off in milliseconds; a moment without a zone is UTC."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.timezone.utc)
    return round(aware.timestamp() * 1000)


def _hex(digest: str | None) -> str | None:
    return digest.lower() if digest else None


def _noarch(value: Any) -> str | None:
    """Return ``python`` or ``generic``; the oldest packages say ``true`` for the latter."""
    if not value:
        return None
    return "generic" if value is True else str(value)


def _words(value: str | Iterable[str] | None) -> tuple[str, ...]:
    if not value:
        return ()
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else tuple(value)
