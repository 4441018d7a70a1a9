"""``pixi.lock`` version 6, written for pixi and rattler; what reads it needs rattler and is among the engines.

A package's fields stand where rattler has them, and what can be told from the address is left out, as rattler does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from conda_llmenv.locks.addresses import Address, build_number, noarch_kind, parse_address
from conda_llmenv.locks.exact import exact
from conda_llmenv.locks.header import with_head
from conda_llmenv.locks.pip_entries import Entry
from conda_llmenv.locks.pip_index import PUBLIC_INDEX, option_lines, option_values
from conda_llmenv.locks.yaml_text import scalar
from conda_llmenv.model import Lock, Record
from conda_llmenv.redact import strip

VERSION = 6
ENVIRONMENT = "default"
DIRECT = "direct+"
"""What pixi writes before the address of a distribution that was asked for by it."""


def write(lock: Lock) -> str:
    """Return the lockfile.

    Raises:
        InputError: packages without an address or a hash; all of them are named.
    """
    entries: dict[str, tuple[Record | Entry, ...]] = {
        subdir: (*packages.records, *packages.pip) for subdir, packages in sorted(exact(lock, "pixi.lock").items())
    }
    body = [f"version: {VERSION}", *_environment(lock, entries), *_packages(entries), ""]
    return with_head("\n".join(body), lock.facts, lock.specs, lock.input_hash)


def options_of(indexes: Sequence[str], find_links: Iterable[str]) -> tuple[str, ...]:
    """Return the options of a pip section that say the same as the indexes of a lockfile.

    Nobody writes down the public index where it is the main one; pixi does.
    """
    main, *others = indexes or [PUBLIC_INDEX]
    return (
        *([f"--index-url {main}"] if main.rstrip("/") != PUBLIC_INDEX else []),
        *(f"--extra-index-url {url}" for url in others),
        *(f"--find-links {url}" for url in find_links),
    )


def _environment(lock: Lock, entries: Mapping[str, Sequence[Record | Entry]]) -> Iterator[str]:
    yield "environments:"
    yield f"  {ENVIRONMENT}:"
    yield "    channels:" if lock.channels else "    channels: []"
    yield from (f"    - url: {scalar(strip(channel.url).rstrip('/') + '/')}" for channel in lock.channels)
    if any(platform.pip for platform in lock.platforms) or lock.pip_options:
        yield from _indexes([line for platform in lock.platforms for line in option_lines(lock, platform)])
    yield "    packages:"
    for subdir, packages in entries.items():
        yield f"      {subdir}:" if packages else f"      {subdir}: []"
        yield from (f"      - {_selector(package)}" for package in packages)


def _indexes(options: Sequence[str]) -> Iterator[str]:
    """Yield the indexes, the main one first, and the pages of links that are no folders of this machine."""
    main = option_values(options, "--index-url")[-1:] or (PUBLIC_INDEX,)
    yield "    indexes:"
    for url in dict.fromkeys(map(strip, (*main, *option_values(options, "--extra-index-url")))):
        yield f"    - {scalar(url)}"
    pages = dict.fromkeys(strip(url) for url in option_values(options, "--find-links") if "://" in url)
    if pages:
        yield "    find-links:"
        yield from (f"    - url: {scalar(url)}" for url in pages)


def _selector(package: Record | Entry) -> str:
    kind = "conda" if isinstance(package, Record) else "pypi"
    return f"{kind}: {scalar(_location(package))}"


def _location(package: Record | Entry) -> str:
    if isinstance(package, Record):
        return strip(package.url)
    if not package.commit:
        return f"{DIRECT}{package.url}" if package.direct else package.url
    folder = f"&subdirectory={package.folder}" if package.folder else ""
    return f"git+{package.url}?rev={package.commit}{folder}#{package.commit}"


def _packages(entries: Mapping[str, Sequence[Record | Entry]]) -> Iterator[str]:
    """Yield each package once, by name as rattler sorts them, whichever platforms have it."""
    unique = {_location(package): package for packages in entries.values() for package in packages}
    yield "packages:" if unique else "packages: []"
    for package in sorted(unique.values(), key=lambda one: (one.name, isinstance(one, Entry), _location(one))):
        yield f"- {_selector(package)}"
        values = _conda_values(package) if isinstance(package, Record) else _pypi_values(package)
        yield from _fields(values)


def _conda_values(record: Record) -> dict[str, Any]:
    told = _told_by_address(record)
    said = {
        "name": record.name,
        "version": record.version,
        "build": record.build,
        "build_number": record.build_number,
        "subdir": record.subdir,
        "noarch": record.noarch,
    }
    return {
        **{key: value for key, value in said.items() if value != told.get(key)},
        "sha256": record.sha256,
        "md5": record.md5,
        "depends": record.depends,
        "constrains": record.constrains,
        "channel": None if told.get("subdir") else f"{strip(record.channel)}/",
        "track_features": record.track_features,
        "license": record.license,
        "purls": record.purls,
        "size": record.size,
        "timestamp": record.repodata_timestamp,
        "python_site_packages_path": record.python_site_packages_path,
    }


def _told_by_address(record: Record) -> dict[str, Any]:
    """Return what rattler works out where the lockfile does not say it; of a local file, not where it belongs."""
    try:
        address: Address | None = parse_address(record.url)
    except ValueError:
        address = None
    known = {"name": address.name, "version": address.version, "build": address.build} if address else {}
    told: dict[str, Any] = {**known, "build_number": build_number(record.build)}
    if address and not address.url.startswith("file://"):
        told["subdir"] = address.subdir
    told["noarch"] = noarch_kind(told.get("subdir", record.subdir), told.get("build", record.build))
    return told


def _pypi_values(entry: Entry) -> dict[str, Any]:
    return {"name": entry.name, "version": entry.version, "sha256": entry.sha256, "md5": entry.md5}


def _fields(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, int):
            yield f"  {key}: {value}"
        elif isinstance(value, str) and value:
            yield f"  {key}: {scalar(strip(value))}"
        elif value:
            yield f"  {key}:"
            yield from (f"  - {scalar(strip(item))}" for item in value)
