"""A lock as a layer: what it asks for, composed like any other, so that checks, records and messages are the same."""

from __future__ import annotations

import hashlib
from pathlib import Path

from conda_llmenv.compose.pip_lines import Line, Option, parse_line
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.errors import FileFormatError
from conda_llmenv.locks.dependencies import spec_name
from conda_llmenv.locks.facts import IMPORTS
from conda_llmenv.model import (
    Fragment,
    Kind,
    Layer,
    Lock,
    LockedPlatform,
    Origin,
    PipOption,
    PipPackage,
    PipRequirement,
    Sourced,
    Variable,
)
from conda_llmenv.redact import mask


def as_layer(lock: Lock, platform: LockedPlatform, display: str, *, pinned: bool) -> Fragment:
    """Return what a lock asks for on one platform.

    Args:
        lock: the lock.
        platform: the part of it that is meant.
        display: its path as shown in messages.
        pinned: ask for every version there is, rather than for what was asked when it was made.

    Raises:
        FileFormatError: a line of its pip section cannot be read.
    """
    origin = Origin(display, None, Layer.COMMAND_LINE)
    specs = [f"{record.name}={record.version}" for record in platform.records]
    requirements = tuple(_requirement(package, lock, display) for package in platform.pip)
    return Fragment(
        name=Path(display).name,
        kind=Kind.FRAGMENT,
        origin=origin,
        directory=Path(),
        digest=hashlib.sha256(repr(lock).encode()).hexdigest(),
        channels=tuple(Sourced(channel.name, origin) for channel in lock.channels),
        nodefaults=origin if lock.nodefaults else None,
        specs=tuple(_located(text, lock, display) for text in (specs if pinned else lock.specs)),
        pip_options=tuple(PipOption(tokens, origin) for text in lock.pip_options for tokens in _tokens(text, display)),
        pip=requirements,
        has_pip_section=bool(requirements),
        variables=tuple(Variable(name, value, origin) for name, value in lock.variables.items()),
        settings={"verify": {"imports": lock.facts[IMPORTS].split()}} if lock.facts.get(IMPORTS) else {},
    )


def _located(text: str, lock: Lock, display: str) -> Sourced:
    return Sourced(text, Origin(display, lock.lines.get(spec_name(text)), Layer.COMMAND_LINE))


def _tokens(text: str, display: str) -> tuple[tuple[str, ...], ...]:
    return tuple(one.tokens for one in _parsed(text, display) if isinstance(one, Option))


def _requirement(package: PipPackage, lock: Lock, display: str) -> PipRequirement:
    where = Origin(display, lock.lines.get(package.name)).where
    parsed = _parsed(package.requirement, where)
    line = parsed[0] if len(parsed) == 1 else None
    if not isinstance(line, Line):
        raise FileFormatError(f"{where}: {mask(package.requirement)!r} is no requirement")
    return PipRequirement(
        line.text,
        line.kind,
        Origin(display, lock.lines.get(line.name or ""), Layer.COMMAND_LINE),
        name=line.name,
        specifier=line.specifier,
        extras=line.extras,
        marker=line.marker,
        path=Path(line.location) if line.location else None,
    )


def _parsed(text: str, where: str) -> tuple[object, ...]:
    try:
        return parse_line(text)
    except Unreadable as error:
        raise FileFormatError(f"{where}: {error.text}", hint=error.hint) from error
