"""What an environment was when it was made, as ``conda-meta/llmenv`` keeps it, in the form of a lock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from conda_llmenv.errors import PrefixError
from conda_llmenv.locks.options import portable
from conda_llmenv.model import Channel, Lock, LockedPlatform, PipPackage, Record
from conda_llmenv.prefix.state import SPEC_FILE, read_spec
from conda_llmenv.prefix.variables import ALWAYS


class _Record(Struct):
    name: str
    version: str
    build: str = ""
    subdir: str = ""
    url: str = ""
    sha256: str | None = None
    md5: str | None = None


class _Dependency(Struct):
    specs: tuple[str, ...] = ()


class _Channel(Struct):
    name: str


class _Option(Struct):
    text: str


class _Pip(Struct):
    options: tuple[_Option, ...] = ()


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
    try:
        spec = msgspec.convert(found, type=_Spec)
    except msgspec.ValidationError as error:
        raise PrefixError(
            f"{prefix / SPEC_FILE} is broken: {error}", hint="compare with a lock instead: llmenv diff ENVIRONMENT LOCK"
        ) from error
    asked = spec.asked
    return Lock(
        platforms=(LockedPlatform(subdir, tuple(map(_record, spec.conda)), spec.pip),),
        channels=tuple(Channel(channel.name, "") for channel in asked.channels),
        nodefaults=asked.nodefaults,
        specs=tuple(text for dependency in asked.dependencies for text in dependency.specs),
        pip_options=portable(option.text for option in asked.pip.options),
        variables=_variables(asked.variables),
        input_hash=spec.input_hash,
    )


def _record(noted: _Record) -> Record:
    channel, _, file_name = noted.url.rpartition("/")
    return Record(
        name=noted.name,
        version=noted.version,
        build=noted.build,
        build_number=0,
        subdir=noted.subdir,
        url=noted.url,
        channel=channel.rpartition("/")[0],
        file_name=file_name,
        sha256=noted.sha256,
        md5=noted.md5,
    )


def _variables(noted: tuple[_Variable, ...]) -> Mapping[str, str]:
    """Return what activation was to set; a variable without a value takes one of the usual ones away."""
    values = {**ALWAYS, **{one.name: one.value for one in noted}}
    return {name: value for name, value in values.items() if value is not None}
