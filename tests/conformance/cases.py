"""The case files in memory: strict about every key, since a misspelt expectation would expect nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from ruamel.yaml import YAML

FOLDER = Path(__file__).with_name("cases")

ENGINES = ("rattler", "conda", "libmamba")
BASE = ENGINES[0]
"""The engine whose answer the differences of the others are told from."""

PLUGINS = {"conda": "rattler", "conda+libmamba": "libmamba", "conda+classic": "classic"}
"""The solver that conda is configured with: its own choice since 2023 is libmamba, classic is what came before."""

SOLVERS = (*ENGINES, *(name for name in PLUGINS if name not in ENGINES))
"""Everything that solves: the engines, and conda's with each of its solvers."""

World = Literal["small", "offline", "recorded"]
"""Where channels are looked up: ``small.yml``, the offline channel with packages in it, or recorded real ones."""


class Failing(Struct, frozen=True, forbid_unknown_fields=True):
    """The failure a case expects.

    Attributes:
        code: the kind of failure (see :mod:`conda_llmenv.errors`).
        packages: what has to be among the names it gives.
        never: what must not be among them, since it has no part in it.
        channel: the channel it has to name.
        says: words that have to be in what a person reads.
    """

    code: Literal["unsatisfiable", "channel-unavailable", "bad-input"]
    packages: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    channel: str = ""
    says: tuple[str, ...] = ()


class Difference(Struct, frozen=True, forbid_unknown_fields=True):
    """An engine's own answer and why it has one: all records, some in place of the base engine's, or a failure.

    Attributes:
        why: the reason, in the words of the field.
        records: every record.
        instead: records that take the place of the base engine's of the same name, or are there as well.
        lacks: names of the base engine's records that are not there.
        error: the failure, where others succeed or name something else.
    """

    why: str
    records: tuple[str, ...] | None = None
    instead: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    error: Failing | None = None


class Composition(Struct, frozen=True, forbid_unknown_fields=True):
    """Files of this package whose specs are asked for, without the ones that the recorded metadata lacks."""

    tier: str
    recipe: str = "minimal"
    fragments: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


class Case(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One request and what comes of it.

    Attributes:
        id: unique name, snake_case.
        why: the behaviour in a sentence.
        channels: names in the world, highest priority first; ``nowhere`` is one that is not there.
        host: virtual package → ``version`` or ``version build``, over those of a plain machine; None takes one away.
        locked: ``name version build channel`` of records in the world.
        records: every record, as ``name version build`` or ``name version build channel``.
        has: some of the records, for answers too long to write down; needs ``count``.
        lacks: names that must not be there.
        differs: solvers that answer otherwise, separated by commas → what they answer.
    """

    id: str
    why: str
    specs: tuple[str, ...] = ()
    compose: Composition | None = None
    channels: tuple[str, ...] = ()
    priority: Literal["strict", "flexible", "disabled"] = "strict"
    subdir: str = ""
    host: Mapping[str, str | None] = {}
    constraints: tuple[str, ...] = ()
    exclude_newer: str = ""
    locked: tuple[str, ...] = ()
    records: tuple[str, ...] | None = None
    has: tuple[str, ...] = ()
    count: int = 0
    lacks: tuple[str, ...] = ()
    error: Failing | None = None
    differs: Mapping[str, Difference] = {}

    def difference(self, solver: str) -> Difference | None:
        """Return what is listed for a solver."""
        return next((told for names, told in self.differs.items() if solver in names.split(", ")), None)


class Theme(Struct, frozen=True, forbid_unknown_fields=True):
    """One file: what its cases have in common."""

    theme: str
    world: World
    channels: tuple[str, ...]
    cases: tuple[Case, ...]


class Asked(Struct, frozen=True):
    """A case in the world of its file."""

    case: Case
    world: World

    @property
    def id(self) -> str:
        """The case's own name, which no other case has."""
        return self.case.id

    def is_for(self, solver: str) -> bool:
        """Return whether a solver is asked; conda's classic one takes minutes for a real question."""
        return solver != "conda+classic" or self.world != "recorded"


def read(path: Path) -> Theme:
    """Read one file.

    Raises:
        msgspec.ValidationError: a key or a value is not one of those above; the message has its path.
    """
    return msgspec.convert(plain(path), Theme)


def plain(path: Path) -> Any:
    """Return a YAML file as plain values."""
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


@cache
def everything() -> tuple[Asked, ...]:
    """Return every case of every file, channels filled in from the file where a case has none."""
    return tuple(asked for path in sorted(FOLDER.glob("*.yml")) for asked in _asked(read(path)))


def _asked(theme: Theme) -> Iterator[Asked]:
    for case in theme.cases:
        channels = case.channels or theme.channels
        yield Asked(msgspec.structs.replace(case, channels=channels), theme.world)
