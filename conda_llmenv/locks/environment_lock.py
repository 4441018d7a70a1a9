"""``environment.lock.yml``: an environment.yml (CEP 24) with every package as ``name=version``.

No builds, no prefix, no name, no credentials: what differs between two machines that may both have the environment is
left out. Exact artifacts are for the formats that carry hashes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from conda_llmenv.compose.matchspec import parse_spec
from conda_llmenv.compose.reader import NODEFAULTS, read_fragment
from conda_llmenv.compose.render import scalar
from conda_llmenv.errors import FileFormatError
from conda_llmenv.locks.header import read_head, with_head
from conda_llmenv.locks.pip_index import option_lines
from conda_llmenv.model import (
    AskedEnvironment,
    Channel,
    Fragment,
    Kind,
    Layer,
    Lock,
    LockedPlatform,
    PipKind,
    PipPackage,
    Record,
    Source,
    Sourced,
)
from conda_llmenv.redact import has_secret, mask, strip

FILE_NAMES = ("environment.lock.yml", "environment.lock.yaml")

PLATFORM = "platform"
"""The fact that names the platform it was locked on; another one may use it too."""

DEFAULT_PLATFORM = "linux-64"

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.!+_-]*")


def write(lock: Lock) -> str:
    """Return the lockfile of the first platform: UTF-8 text, line feeds, the same for the same environment."""
    platform = lock.platforms[0]
    body = _body(
        channels=[channel.name for channel in lock.channels],
        nodefaults=lock.nodefaults,
        dependencies=[f"{record.name}={record.version}" for record in platform.records],
        pip=[*option_lines(lock, platform), *map(requirement_line, platform.pip)],
        variables=lock.variables,
    )
    return with_head(body, {**lock.facts, PLATFORM: platform.subdir}, lock.specs, lock.input_hash)


def read(text: str, display: str) -> Lock:
    """Return what an environment.lock.yml says: names and versions, without builds, addresses or hashes.

    Raises:
        FileFormatError: it is no environment file, or a package in it is not pinned; the message starts with file and
            line.
    """
    fragment = _fragment(text, display)
    records = tuple(sorted((_record(spec) for spec in fragment.specs), key=lambda record: record.name))
    head = read_head(text)
    return Lock(
        platforms=(LockedPlatform(head.facts.get(PLATFORM, DEFAULT_PLATFORM), records, _pip(fragment)),),
        channels=tuple(Channel(channel.value, channel.value) for channel in fragment.channels),
        nodefaults=fragment.nodefaults is not None,
        specs=head.specs,
        pip_options=tuple(option.text for option in fragment.pip_options),
        variables={one.name: one.value for one in fragment.variables if one.value is not None},
        facts=head.facts,
        input_hash=head.input_hash,
        lines={parse_spec(spec.value).name: spec.origin.line or 0 for spec in fragment.specs},
    )


def _fragment(text: str, display: str) -> Fragment:
    source = Source(PurePath(display).name, display, Path(), text.encode(), Kind.FRAGMENT, Layer.COMMAND_LINE)
    return read_fragment(source, _refuse_includes, lambda _path: True)


def _refuse_includes(path: Path) -> bytes:
    raise OSError(f"a lock includes no other file, and {path} is one")


def _record(spec: Sourced) -> Record:
    parsed = parse_spec(spec.value)
    version = parsed.version.removeprefix("==").removesuffix(".*")
    if not version or not _VERSION.fullmatch(version):
        raise FileFormatError(
            f"{spec.origin.where}: {mask(spec.value)} is not pinned",
            hint="this is an environment file and no lock: give it with -f, or lock it with `llmenv lock -f`",
            origins=[spec.origin],
        )
    return Record(parsed.name, version, "", 0, "", "", "", "")


def _pip(fragment: Fragment) -> tuple[PipPackage, ...]:
    return tuple(
        PipPackage(
            name=one.name or one.text,
            version=one.specifier.removeprefix("==") if one.specifier.startswith("==") else None,
            requirement=one.text,
            direct=one.kind is not PipKind.NAMED,
        )
        for one in fragment.pip
    )


def write_asked(asked: AskedEnvironment) -> str:
    """Return what was asked for as an environment.yml of the same form: no head, not pinned."""
    return _body(
        channels=asked.channels,
        nodefaults=asked.nodefaults,
        dependencies=asked.dependencies,
        pip=asked.pip,
        variables=asked.variables,
    )


def requirement_line(package: PipPackage) -> str:
    """Return the line that asks pip for exactly this distribution."""
    return package.requirement or f"{package.name}=={package.version}"


def _body(
    *,
    channels: Sequence[str],
    nodefaults: bool,
    dependencies: Sequence[str],
    pip: Sequence[str],
    variables: Mapping[str, str],
) -> str:
    lines = [
        *_channels(channels, nodefaults=nodefaults),
        *_dependencies(dependencies, pip),
        *_variables(variables),
    ]
    return "\n".join((*lines, ""))


def _channels(names: Sequence[str], *, nodefaults: bool) -> Iterator[str]:
    listed = [*map(strip, names), *([NODEFAULTS] if nodefaults else [])]
    if listed:
        yield "channels:"
        yield from (f"  - {scalar(name)}" for name in listed)


def _dependencies(specs: Sequence[str], pip: Sequence[str]) -> Iterator[str]:
    yield "dependencies:" if specs or pip else "dependencies: []"
    yield from (f"  - {scalar(strip(spec))}" for spec in specs)
    if pip:
        yield "  - pip:"
        yield from (f"    - {scalar(strip(line))}" for line in pip)


def _variables(variables: Mapping[str, str]) -> Iterator[str]:
    secret = {name for name, value in variables.items() if has_secret(f"{name}={value}")}
    if variables:
        yield "variables:" if len(secret) < len(variables) else "variables: {}"
    for name, value in sorted(variables.items()):
        hidden = f"# {name} holds a secret and is left out"
        yield f"  {hidden if name in secret else f'{name}: {json.dumps(value, ensure_ascii=False)}'}"
