"""What the engine and the process that has libmambapy tell each other: plain values, as JSON in files."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from conda_llmenv.model import VirtualPackage

Key: TypeAlias = tuple[str, str, str]
"""Which record: repository, subdir, file name."""


class Repository(Struct, frozen=True):
    """The candidates of one channel and subdir.

    Attributes:
        name: told back with each of its records.
        url: base of its packages' addresses, without secrets.
        file: path of its ``repodata.json``.
        size: how many candidates there are.
        priority: records of higher ones are preferred over better versions.
    """

    name: str
    url: str
    file: str
    size: int
    priority: int


class Question(Struct, frozen=True):
    """Everything libmamba is told.

    Attributes:
        repositories: all candidates; what is not in them does not exist.
        virtual_packages: what the target machine offers, all of it.
        specs: ``NAME [VERSION [BUILD]]``, each to be satisfied.
        constraints: the same, to hold if the package is there at all.
    """

    repositories: tuple[Repository, ...]
    virtual_packages: tuple[VirtualPackage, ...]
    specs: tuple[str, ...]
    constraints: tuple[str, ...]


class Conflict(Struct, frozen=True):
    """Why nothing fits.

    Attributes:
        text: libmamba's explanation, a tree without colours.
        names: the packages in it, each before what it leads to.
        missing: those of them that no candidate fits, if that alone is the reason.
    """

    text: str
    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Answer(Struct, frozen=True):
    """One of: the chosen records, a conflict, or in words what went wrong in the library."""

    chosen: tuple[Key, ...] | None = None
    conflict: Conflict | None = None
    fault: str = ""
