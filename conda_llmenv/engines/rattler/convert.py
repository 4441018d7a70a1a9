"""Our records and requests in py-rattler's terms and back, field by field.

Records cross the border as repodata entries: it is the one form in which the library takes and gives every field
(package URLs have no setter), and it is the same in all its versions.
"""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import rattler
from rattler.exceptions import InvalidMatchSpecError, InvalidVersionError

from conda_llmenv.engines.rattler.compat import build_string
from conda_llmenv.errors import InputError
from conda_llmenv.model import Channel, Record, VirtualPackage
from conda_llmenv.model.solve import SECONDS_END
from conda_llmenv.redact import mask


def to_record(source: rattler.RepoDataRecord) -> Record:
    """Return the library's record as ours."""
    entry = json.loads(source.to_json())
    return Record(
        name=entry["name"],
        version=entry["version"],
        build=entry["build"],
        build_number=entry["build_number"],
        subdir=entry["subdir"],
        url=entry["url"],
        channel=(entry.get("channel") or "").rstrip("/"),
        file_name=entry["fn"],
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
        purls=tuple(sorted(entry.get("purls") or ())),
    )


def from_records(records: Sequence[Record]) -> list[rattler.RepoDataRecord]:
    """Return our records, of distinct file names, as the library's, in the order given."""
    if not records:
        return []
    entries = {record.file_name: _entry(record) for record in records}
    with tempfile.TemporaryDirectory(prefix="llmenv-records-") as folder:
        path = Path(folder, "repodata.json")
        path.write_text(json.dumps({"info": {}, "packages": {}, "packages.conda": entries}), encoding="utf-8")
        loaded = rattler.RepoData.from_path(path).into_repo_data(rattler.Channel("file:///"))
    by_file = {package.file_name: package for package in loaded}
    return [
        rattler.RepoDataRecord(by_file[record.file_name], record.file_name, record.url, f"{record.channel}/")
        for record in records
    ]


def _entry(record: Record) -> dict[str, Any]:
    entry = {
        "name": record.name,
        "version": record.version,
        "build": record.build,
        "build_number": record.build_number,
        "subdir": record.subdir,
        "sha256": record.sha256,
        "md5": record.md5,
        "size": record.size,
        "timestamp": record.repodata_timestamp,
        "depends": record.depends,
        "constrains": record.constrains,
        "noarch": record.noarch,
        "license": record.license,
        "track_features": " ".join(record.track_features),
        "python_site_packages_path": record.python_site_packages_path,
        "purls": record.purls,
    }
    return {key: value for key, value in entry.items() if value or value == 0 or key == "depends"}


def _milliseconds(timestamp: int | None) -> int | None:
    if timestamp is None:
        return None
    return timestamp * 1000 if timestamp <= SECONDS_END else timestamp


def to_spec(text: str, channels: Iterable[Channel] = ()) -> rattler.MatchSpec:
    """Read a MatchSpec as environment files write it; a channel in it means the request's channel of that name.

    Raises:
        InputError: it is not a MatchSpec, or names a channel the request does not have.
    """
    try:
        spec = rattler.MatchSpec(text, strict=False)
        if spec.channel is None:
            return spec
        return rattler.MatchSpec(_with_channel_url(text, spec, tuple(channels)), strict=False)
    except InvalidMatchSpecError as error:
        raise InputError(
            f"{mask(text)!r} is not a package specification: {mask(str(error))}",
            hint="write it as in environment.yml, such as `numpy >=2` or `conda-forge::numpy=2.1`",
        ) from error


def _with_channel_url(text: str, spec: Any, channels: tuple[Channel, ...]) -> str:
    asked = {str(spec.channel.name or ""), spec.channel.base_url.rstrip("/")}
    found = next((channel for channel in channels if asked & {channel.name.rstrip("/"), channel.url.rstrip("/")}), None)
    if found is None:
        raise InputError(
            f"{mask(text)!r} asks for a channel that is not among the channels: "
            + (", ".join(mask(channel.name) for channel in channels) or "there are none"),
            hint="add that channel to `channels:`, below the ones it must not override",
        )
    written = str(spec)
    _, named, rest = written.partition("::")
    if not named:
        return written.replace(spec.channel.base_url, f"{found.url}/")
    return f"{found.url}{'/' + spec.subdir if spec.subdir else ''}::{rest}"


def to_virtual(package: VirtualPackage) -> rattler.GenericVirtualPackage:
    """Return a virtual package as the library's.

    Raises:
        InputError: its version is not one.
    """
    try:
        version = rattler.Version(package.version)
    except InvalidVersionError as error:
        raise InputError(f"{package.version!r} is not a version of the virtual package {package.name}") from error
    return rattler.GenericVirtualPackage(rattler.PackageName(package.name), version, build_string(package.build))


def to_cutoff(moment: dt.datetime | None) -> dt.datetime | None:
    """Return a cut-off in UTC; a moment without a zone is UTC already."""
    if moment is None:
        return None
    return moment.replace(tzinfo=dt.timezone.utc) if moment.tzinfo is None else moment.astimezone(dt.timezone.utc)
