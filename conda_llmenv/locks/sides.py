"""One side of a comparison: a lock, and what a lock of its kind says at all."""

from __future__ import annotations

from msgspec import Struct

from conda_llmenv.locks.differences import Part
from conda_llmenv.model import Lock, LockedPlatform

EVERYTHING = frozenset(Part)
"""What an environment that llmenv made says."""

INSTALLED = frozenset({Part.CONDA, Part.PIP, Part.ORIGINS, Part.VARIABLES, Part.PLATFORM})
"""What an environment says that another tool made: nobody noted what was asked for."""

_EXACT = frozenset({Part.CONDA, Part.PIP, Part.ORIGINS, Part.CHANNELS, Part.PLATFORM})
SAID = {
    "environment": EVERYTHING - {Part.PLATFORM},
    "pixi": _EXACT,
    "conda-lock": _EXACT,
    "explicit": frozenset({Part.CONDA, Part.PIP, Part.PLATFORM}),  # a file of an index is an address like any other
    "pylock": frozenset({Part.PIP, Part.ORIGINS}),
    "requirements": frozenset({Part.PIP, Part.ORIGINS, Part.INDEXES}),
}
"""What a lockfile of each format says; what was asked for is said wherever it is not empty."""

IN_HEAD = frozenset({Part.VARIABLES, Part.INDEXES, Part.NODEFAULTS})
"""What the head of any lockfile of ours says."""


class Side(Struct, frozen=True):
    """One side of a comparison.

    Attributes:
        lock: what is compared.
        platform: the part of it that is meant.
        says: what this kind of lock can say at all; an empty value in it means that there is nothing.
    """

    lock: Lock
    platform: LockedPlatform
    says: frozenset[Part] = EVERYTHING


def said_by(side: Side) -> frozenset[Part]:
    """Return what a side says; specs and channels are unknown, rather than none, where there are none."""
    unknown = {
        part for part, values in ((Part.CHANNELS, side.lock.channels), (Part.ASKED, side.lock.specs)) if not values
    }
    return (side.says | {Part.ASKED}) - unknown
