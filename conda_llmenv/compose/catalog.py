"""Read the tiers and recipes a library knows, for listing and choosing."""

from __future__ import annotations

from msgspec.structs import replace

from conda_llmenv.compose.reader import read_fragment
from conda_llmenv.compose.stacking import named
from conda_llmenv.model import Fragment, Kind, Source
from conda_llmenv.ports import Library


def read_tier(name: str, library: Library) -> Fragment:
    """Return one tier.

    Raises:
        NotFoundError: there is none of that name.
        FileFormatError: its file cannot be read.
    """
    return _read(named(name, Kind.TIER, library), library)


def read_tiers(library: Library) -> tuple[Fragment, ...]:
    """Return every tier, sorted by name."""
    return _read_all(Kind.TIER, library)


def read_recipes(library: Library) -> tuple[Fragment, ...]:
    """Return every recipe, sorted by name."""
    return _read_all(Kind.RECIPE, library)


def _read_all(kind: Kind, library: Library) -> tuple[Fragment, ...]:
    return tuple(_read(named(name, kind, library), library) for name in library.names(kind.value))


def _read(source: Source, library: Library) -> Fragment:
    return read_fragment(replace(source, detail=source.name), library.read, library.exists)
