"""``environment.lock.yml`` read back: an environment file in which everything is pinned."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from conda_llmenv.compose.matchspec import parse_spec
from conda_llmenv.compose.reader import read_fragment
from conda_llmenv.errors import FileFormatError
from conda_llmenv.locks.facts import PLATFORM
from conda_llmenv.locks.header import read_head
from conda_llmenv.model import (
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
from conda_llmenv.redact import mask

DEFAULT_PLATFORM = "linux-64"

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.!+_-]*")


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
