"""Where a value came from: every composed value keeps the file, line and layer that asked for it."""

from __future__ import annotations

import enum

from msgspec import Struct


class Layer(enum.IntEnum):
    """The order in which layers are stacked; a later layer may replace or drop an earlier one's values."""

    BASE = 0
    RECIPE = 1
    TIER = 2
    PROJECT = 3
    COMMAND_LINE = 4

    @property
    def title(self) -> str:
        """The word shown to people, such as ``command line``."""
        return self.name.lower().replace("_", " ")


class Origin(Struct, frozen=True):
    """One place a value was written.

    Attributes:
        file: path as shown to people (relative where that is shorter), or ``command line``.
        line: 1-based line, or None where there is no line (an option, an environment variable).
        layer: which layer the file belongs to.
        detail: what the layer is called, such as the tier's or recipe's name; may be empty.
    """

    file: str
    line: int | None = None
    layer: Layer = Layer.BASE
    detail: str = ""

    @property
    def where(self) -> str:
        """``file:line``, or the bare file where there is no line."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def label(self) -> str:
        """The layer with its name, such as ``tier a100`` or ``command line``."""
        return f"{self.layer.title} {self.detail}".rstrip()

    def __str__(self) -> str:
        """Return the text a person can click on: ``file:line``."""
        return self.where


class Sourced(Struct, frozen=True):
    """A string with its origin and, where the file gave one, the comment that says why."""

    value: str
    origin: Origin
    why: str = ""
