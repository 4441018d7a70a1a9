"""What an environment was when it was made, as ``conda-meta/llmenv`` keeps it, in the form of a lock."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from conda_llmenv.errors import PrefixError
from conda_llmenv.locks.options import portable
from conda_llmenv.model import Channel, Lock, LockedPlatform, PipPackage, Record
from conda_llmenv.prefix.conda_meta import check_identity, clean_address
from conda_llmenv.prefix.inspect import is_distribution_name, is_version
from conda_llmenv.prefix.state import SPEC_FILE, read_spec
from conda_llmenv.prefix.variables import ALWAYS

_HASH = re.compile(r"[a-z0-9_]{1,20}:[0-9A-Fa-f]{1,200}")


class _Record(Struct):
    name: str
    version: str
    build: str = ""
    subdir: str = ""
    url: str = ""
    sha256: str | None = None
    md5: str | None = None


class _Dependency(Struct):
    specs: tuple[str, ...]


class _Channel(Struct):
    name: str


class _Line(Struct):
    text: str


class _Pip(Struct):
    options: tuple[_Line, ...] = ()
    requirements: tuple[_Line, ...] = ()


class _Variable(Struct):
    name: str
    value: str | None = None


class _Asked(Struct):
    dependencies: tuple[_Dependency, ...] = ()
    channels: tuple[_Channel, ...] = ()
    nodefaults: bool = False
    pip: _Pip = msgspec.field(default_factory=_Pip)
    variables: tuple[_Variable, ...] = ()


class _Spec(Struct):
    """The parts of ``spec.json`` that say what was made."""

    asked: _Asked
    conda: tuple[_Record, ...] = ()
    pip: tuple[PipPackage, ...] = ()
    input_hash: str = ""


def read_recorded(prefix: Path, *, subdir: str) -> Lock | None:
    """Return what was installed when llmenv made an environment, whatever is there now; None if it did not.

    Raises:
        PrefixError: what was noted is broken; the message names the file.
    """
    found = read_spec(prefix)
    if found is None:
        return None
    spec = _decode(prefix, found)
    asked = spec.asked
    pip = tuple(map(with_usable_origin, spec.pip))
    return Lock(
        platforms=(LockedPlatform(subdir, tuple(map(_record, spec.conda)), pip),),
        channels=tuple(Channel(channel.name, "") for channel in asked.channels),
        nodefaults=asked.nodefaults,
        specs=tuple(text for dependency in asked.dependencies for text in dependency.specs),
        pip_options=portable(option.text for option in asked.pip.options),
        variables=_variables(asked.variables),
        input_hash=spec.input_hash,
    )


def read_noted(prefix: Path) -> dict[str, Any] | None:
    """Return what was asked for and installed as it was noted; None where llmenv did not make the environment.

    Raises:
        PrefixError: what was noted is broken; the message names the file.
    """
    found = read_spec(prefix)
    if found is not None:
        _decode(prefix, found)
    return found


def with_usable_origin(package: PipPackage) -> PipPackage:
    """Return a noted distribution whose line, addresses and hashes say nothing else in the file they are written to."""
    line = package.requirement
    return msgspec.structs.replace(
        package,
        requirement=line if line.isprintable() else f"{package.name}=={package.version}" if package.version else "",
        hashes=tuple(one for one in package.hashes if _HASH.fullmatch(one)),
        url=clean_address(package.url) or None,
        artifacts=tuple(one for one in package.artifacts if clean_address(one.url)),
    )


def _decode(prefix: Path, found: Mapping[str, Any]) -> _Spec:
    try:
        spec = msgspec.convert(found, type=_Spec)
        for record in spec.conda:
            check_identity(record)
        for package in spec.pip:
            _check(package)
    except ValueError as error:
        raise PrefixError(
            f"{prefix / SPEC_FILE} is broken: {error}", hint="compare with a lock instead: llmenv diff ENVIRONMENT LOCK"
        ) from error
    return spec


def _check(package: PipPackage) -> None:
    if not is_distribution_name(package.name):
        raise ValueError(f"{package.name[:80]!a} is no name of a distribution")
    if package.version is not None and not is_version(package.version):
        raise ValueError(f"{package.version[:80]!a} is no version of {package.name}")


def _record(noted: _Record) -> Record:
    url = clean_address(noted.url)
    channel, _, file_name = url.rpartition("/")
    return Record(
        name=noted.name,
        version=noted.version,
        build=noted.build,
        build_number=0,
        subdir=noted.subdir,
        url=url,
        channel=channel.rpartition("/")[0],
        file_name=file_name,
        sha256=noted.sha256,
        md5=noted.md5,
    )


def _variables(noted: tuple[_Variable, ...]) -> Mapping[str, str]:
    """Return what activation was to set; a variable without a value takes one of the usual ones away."""
    values = {**ALWAYS, **{one.name: one.value for one in noted}}
    return {name: value for name, value in values.items() if value is not None}
