"""What a difference between two locks is: which package or setting, in which of its fields, and which way."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct


class Part(enum.Enum):
    """What a lock may say, in the order a person reads it; the value is the word used in payloads.

    ``ORIGINS`` is whether it tells a distribution of an index from one that was asked for by its address.
    """

    PLATFORM = "platform"
    CONDA = "conda"
    MOVED = "moved"
    PIP = "pip"
    ORIGINS = "origins"
    CHANNELS = "channels"
    NODEFAULTS = "nodefaults"
    INDEXES = "indexes"
    VARIABLES = "variables"
    ASKED = "asked"


class Kind(enum.Enum):
    """What has become of a package or a setting."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    CHANGED = "changed"


class Change(Struct, frozen=True):
    """One field that differs.

    Attributes:
        field: ``version``, ``build``, ``channel``, ``archive`` (``.conda`` or ``.tar.bz2``), ``hash``, ``origin``,
            ``installer``, ``name`` or ``value``.
        before, after: what either side says; empty where the package or setting is not there. Free of secrets.
        direction: ``up`` or ``down`` for a version that has an order, else empty.
    """

    field: str
    before: str
    after: str
    direction: str = ""


class Difference(Struct, frozen=True):
    """One package or setting that is not the same on both sides.

    Attributes:
        part: what it is about.
        kind: what has become of it.
        name: package, variable or setting; for a package that moved, its name on the first side.
        changes: the fields that differ, the most telling first.
    """

    part: Part
    kind: Kind
    name: str
    changes: tuple[Change, ...]

    @property
    def loud(self) -> bool:
        """Whether the very same build or version has another content, which should never be."""
        fields = {change.field for change in self.changes}
        return self.kind is Kind.CHANGED and "hash" in fields and not fields & {"version", "build", "archive", "origin"}


class Comparison(Struct, frozen=True):
    """How two locks compare.

    Attributes:
        differences: all of them, by part, the loud ones first; empty where the locks are equal.
        packages: how many packages of the second side were compared, ``conda`` and ``pip`` → number; a part that one
            side does not say is missing.
        unsaid: what could not be compared because one side does not say it, in words.
    """

    differences: tuple[Difference, ...]
    packages: Mapping[str, int]
    unsaid: tuple[str, ...] = ()
