"""An environment on disk → what a lockfile says about it, whoever made it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from packaging.utils import canonicalize_name

from conda_llmenv.locks.addresses import channel_of
from conda_llmenv.locks.facts import TIER, stated, versions
from conda_llmenv.locks.options import portable
from conda_llmenv.model import AskedEnvironment, Channel, EnvState, Lock, LockedPlatform, Notice, PipPackage, Record
from conda_llmenv.prefix.conda_meta import clean_address, decode_records
from conda_llmenv.prefix.inspect import Distribution, distribution_notices, distributions
from conda_llmenv.prefix.recorded import read_noted, with_usable_origin
from conda_llmenv.prefix.state import read_state
from conda_llmenv.prefix.variables import read_variables
from conda_llmenv.redact import MASK, strip

_COMMIT = re.compile(r"@[0-9a-f]{40}")
_BY_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(\[[^\]]*\])?\s*([=<>~!;]|--|$)")
"""A requirement by name; what has an address or a path looks otherwise."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_MD5 = re.compile(r"[0-9a-fA-F]{32}")


class _Package(Struct):
    """The parts of a file in ``conda-meta`` that say which package it is."""

    name: str
    version: str
    build: str = ""
    build_number: int = 0
    subdir: str = ""
    fn: str = ""
    url: str | None = None
    channel: str | None = None
    sha256: str | None = None
    md5: str | None = None
    size: int | None = None
    timestamp: float | None = None
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()
    noarch: str | bool | None = None
    license: str | None = None
    python_site_packages_path: str | None = None


def read_lock(prefix: Path, channels: Sequence[Channel] = (), *, subdir: str = "linux-64") -> Lock:
    """Return what is in an environment, pinned, with what is known of each package's origin.

    Args:
        prefix: the environment.
        channels: what to list where we have not made it and so do not know what was asked for.
        subdir: the platform it is for, where its packages do not say it.

    Raises:
        PrefixError: its records or its state are broken.
    """
    state, spec = read_state(prefix), read_noted(prefix)
    records = read_records(prefix)
    asked: Mapping[str, Any] = spec["asked"] if spec else {}
    return Lock(
        platforms=(LockedPlatform(_platform_of(records) or subdir, records, tuple(_pip(spec, distributions(prefix)))),),
        channels=tuple(_channels(spec) if spec else channels or _channels_of(records)),
        nodefaults=bool(asked.get("nodefaults")),
        specs=tuple(text for one in asked.get("dependencies", ()) for text in one["specs"]),
        pip_options=portable(option["text"] for option in asked.get("pip", {}).get("options", ())),
        variables={name: value for name, value in read_variables(prefix).items() if _is_writable(name, value)},
        facts=_facts(records, state),
        input_hash=str(spec.get("input_hash", "")) if spec else "",
    )


def environment_notices(prefix: Path) -> tuple[Notice, ...]:
    """Return what a lock of an environment leaves out, as it cannot be read or would say something else in a file.

    Raises:
        PrefixError: its variables are broken.
    """
    odd = [name for name, value in read_variables(prefix).items() if not _is_writable(name, value)]
    variables = (
        Notice(
            "variable-left-out",
            f"the variable {ascii(name)[:80]} is left out: its name or its value cannot stand in one line",
            hint="set it again with `conda env config vars set`, or unset it",
        )
        for name in sorted(odd)
    )
    addresses = (
        Notice("address-left-out", f"where {package.name} came from is left out: it is no address")
        for package in decode_records(prefix, _Package)
        if package.url and not clean_address(package.url)
    )
    return (*distribution_notices(prefix), *variables, *addresses)


def _is_set(variable: Mapping[str, Any]) -> bool:
    value = variable.get("value")
    return value is not None and _is_writable(variable["name"], value)


def _is_writable(name: str, value: str) -> bool:
    return _VARIABLE.fullmatch(name) is not None and value.isprintable()


def read_asked(prefix: Path) -> AskedEnvironment | None:
    """Return what was asked for when we made an environment; None where we did not.

    Raises:
        PrefixError: what we noted is broken.
    """
    spec = read_noted(prefix)
    if spec is None:
        return None
    asked, pip = spec["asked"], spec["asked"].get("pip", {})
    return AskedEnvironment(
        dependencies=tuple(text for one in asked.get("dependencies", ()) for text in one["specs"]),
        channels=tuple(channel.name for channel in _channels(spec)),
        nodefaults=bool(asked.get("nodefaults")),
        pip=(
            *portable(option["text"] for option in pip.get("options", ())),
            *(strip(one["text"]) for one in pip.get("requirements", ())),
        ),
        variables={one["name"]: one["value"] for one in asked.get("variables", ()) if _is_set(one)},
    )


def read_records(prefix: Path) -> tuple[Record, ...]:
    """Return the conda packages of an environment as records with clean addresses, sorted by name.

    Raises:
        PrefixError: a record is broken; the message names the file.
    """
    return tuple(sorted(map(_record, decode_records(prefix, _Package)), key=lambda record: record.name))


def _record(package: _Package) -> Record:
    """Return a record of which each text is one line, so that it says nothing else where it is written."""
    return Record(
        name=package.name,
        version=package.version,
        build=package.build,
        build_number=package.build_number,
        subdir=package.subdir,
        url=strip(clean_address(package.url)),
        channel=_base(package),
        file_name=_one_line(package.fn) or "",
        sha256=package.sha256 if _SHA256.fullmatch(package.sha256 or "") else None,
        md5=package.md5 if _MD5.fullmatch(package.md5 or "") else None,
        size=package.size,
        timestamp=None if package.timestamp is None else int(package.timestamp),
        depends=tuple(filter(str.isprintable, package.depends)),
        constrains=tuple(filter(str.isprintable, package.constrains)),
        noarch=package.noarch if package.noarch in {"python", "generic"} else None,
        license=_one_line(package.license),
        python_site_packages_path=_one_line(package.python_site_packages_path),
    )


def _one_line(text: str | None) -> str | None:
    return text if text is not None and text.isprintable() else None


def _base(package: _Package) -> str:
    """Return the channel's clean address: the package's own without its last two parts."""
    url = strip(clean_address(package.url))
    return url.rsplit("/", 2)[0] if url.count("/") > 1 else strip(_one_line(package.channel) or "").rstrip("/")


def _channels(spec: Mapping[str, Any]) -> Iterator[Channel]:
    """Yield the channels as they were asked for; one that had a secret in its name is known by its clean address."""
    addresses = [str(url) for url in spec.get("channels", ())]
    names = [str(channel["name"]) for channel in spec["asked"].get("channels", ())]
    for name in names or addresses:
        end = strip(name).rstrip("/").rpartition("/")[2]
        url = next((url for url in addresses if url == name or url.endswith(f"/{end}")), strip(name))
        yield Channel(url if MASK in name else name, url)


def _platform_of(records: Sequence[Record]) -> str:
    """Return the platform that packages are for; empty where all of them are for any, or they contradict each other."""
    subdirs = {record.subdir for record in records} - {"", "noarch"}
    return subdirs.pop() if len(subdirs) == 1 else ""


def _channels_of(records: Sequence[Record]) -> Iterator[Channel]:
    """Yield where the packages come from, in the order of the alphabet: nobody knows which came first."""
    for url in sorted({record.channel for record in records if record.channel}):
        yield from channel_of(url)


def _pip(spec: Mapping[str, Any] | None, present: Sequence[Distribution]) -> Iterator[PipPackage]:
    """Yield what an installer put there: as we noted it where we did it, else as its metadata says."""
    noted = {package["name"]: package for package in (spec or {}).get("pip", ())}
    for one in present:
        name = canonicalize_name(one.name)
        known = noted.get(name)
        if known is not None and known.get("version") in (None, one.version) and _came_from(known, one.source):
            yield _noted(known, one)
        else:
            yield PipPackage(
                name, one.version, f"{name} @ {strip(one.source)}" if one.source else f"{name}=={one.version}"
            )


def _came_from(known: Mapping[str, Any], source: str) -> bool:
    """Return whether what is there can be what we installed: somebody may have put another origin in its place."""
    requirement = str(known.get("requirement") or "")
    if source.startswith("git+") and "git+" in requirement:
        commit = _COMMIT.search(requirement)
        return commit is None or source.endswith(commit[0])
    by_name = _BY_NAME.match(requirement) is not None or not requirement
    return by_name != bool(source)


def _noted(known: Mapping[str, Any], one: Distribution) -> PipPackage:
    found = msgspec.convert({**known, "requirement": known.get("requirement") or ""}, PipPackage, strict=False)
    package = with_usable_origin(found)
    line = package.requirement or f"{package.name}=={one.version}"
    return msgspec.structs.replace(package, version=one.version, requirement=strip(line))


def _facts(records: Sequence[Record], state: EnvState | None) -> dict[str, str]:
    if state is None:
        return versions(records)
    return stated({TIER: state.tier or "", "recipe": state.recipe or "", **versions(records), "date": state.created})
