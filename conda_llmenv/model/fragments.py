"""What a person writes: fragments, tiers, recipes and the project file, after reading and before merging."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from conda_llmenv.model.provenance import Layer, Origin, Sourced


class Kind(enum.Enum):
    """The kinds of file; the value is the word used in messages and the name of the JSON Schema."""

    FRAGMENT = "fragment"
    TIER = "tier"
    RECIPE = "recipe"
    PROJECT = "project"


class Source(Struct, frozen=True):
    """One file's bytes with its place in the stack; the input of the pure readers.

    Attributes:
        name: the name others refer to it by (stem of the file), such as ``a100``.
        display: path as shown to people.
        directory: absolute folder that relative paths inside the file start from.
        content: the bytes on disk.
        kind: what the file is read as.
        layer: the layer it takes part in.
        detail: what that layer is called, such as the tier's or recipe's name; may be empty.
        shadows: display paths of files of the same name that this one hides, nearest first.
    """

    name: str
    display: str
    directory: Path
    content: bytes
    kind: Kind = Kind.FRAGMENT
    layer: Layer = Layer.BASE
    shadows: tuple[str, ...] = ()
    detail: str = ""


class PipKind(enum.Enum):
    """How a line of a pip section names what to install."""

    NAMED = "named"
    URL = "url"
    VCS = "vcs"
    PATH = "path"
    EDITABLE = "editable"


class PipRequirement(Struct, frozen=True):
    """One requirement of a pip section.

    Attributes:
        text: the requirement as written (comments stripped), verbatim for URL, VCS, path and editable ones.
        kind: how it is named.
        name: normalised distribution name (PEP 503), or None where the line does not tell.
        specifier: PEP 440 specifier set as text, empty if none.
        extras: normalised extras, sorted.
        marker: PEP 508 marker as text, empty if none.
        origin: where it stands.
        path: absolute path for PATH and EDITABLE (local) requirements, else None.
    """

    text: str
    kind: PipKind
    origin: Origin
    name: str | None = None
    specifier: str = ""
    extras: tuple[str, ...] = ()
    marker: str = ""
    path: Path | None = None
    why: str = ""


class PipOption(Struct, frozen=True):
    """One file-wide pip option, such as ``("--extra-index-url", "https://…")``; flags have one element.

    Attributes:
        tokens: its long name and its value; the path of a file or folder is absolute.
        origin: where it stands.
        written: the path as it was written, empty where the value is none.
        lines: what the file of a ``--constraint`` says, without comments.
    """

    tokens: tuple[str, ...]
    origin: Origin
    written: str = ""
    lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The option as one line of a requirements file."""
        return " ".join(self.tokens)


class Variable(Struct, frozen=True):
    """An environment variable a fragment sets; None as value unsets what an earlier layer set."""

    name: str
    value: str | None
    origin: Origin
    why: str = ""


class GpuMatch(Struct, frozen=True):
    """Which cards a tier is for.

    Attributes:
        match: substrings of the card's product name, any of which fits (case-insensitive).
        compute_capability: such as ``8.0``; None where the tier does not say.
        min_memory_mib: smallest card memory, MiB, that this tier fits; None for no lower bound.
        max_memory_mib: largest card memory, MiB, that this tier fits; None for no upper bound.
    """

    match: tuple[str, ...] = ()
    compute_capability: str | None = None
    min_memory_mib: int | None = None
    max_memory_mib: int | None = None


class Fragment(Struct, frozen=True):
    """One file read: its environment.yml part and its ``llmenv:`` part, each value with its origin.

    ``settings`` keeps what of the ``llmenv:`` mapping has no field of its own (``verify``, ``defaults``, …), checked
    against the JSON Schema of its kind. ``unknown_keys`` are top-level keys that mean nothing here; conda ignores them.
    """

    name: str
    kind: Kind
    origin: Origin
    directory: Path
    digest: str
    description: str = ""
    channels: tuple[Sourced, ...] = ()
    nodefaults: Origin | None = None
    channel_priority: Sourced | None = None
    specs: tuple[Sourced, ...] = ()
    pip_options: tuple[PipOption, ...] = ()
    pip: tuple[PipRequirement, ...] = ()
    has_pip_section: bool = False
    variables: tuple[Variable, ...] = ()
    extends: tuple[Sourced, ...] = ()
    fragments: tuple[Sourced, ...] = ()
    tiers: tuple[Sourced, ...] = ()
    replace: tuple[Sourced, ...] = ()
    remove: tuple[Sourced, ...] = ()
    owner: tuple[tuple[str, Sourced], ...] = ()
    allow_variables: tuple[str, ...] = ()
    no_build_isolation: tuple[str, ...] = ()
    virtual_packages: tuple[tuple[str, Sourced], ...] = ()
    driver: Sourced | None = None
    gpu: GpuMatch | None = None
    includes: tuple[tuple[str, str], ...] = ()
    shadows: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}
    unknown_keys: tuple[Sourced, ...] = ()
