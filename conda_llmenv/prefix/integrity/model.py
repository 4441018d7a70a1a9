"""The terms of integrity: what is on the disk, what was recorded of it, and what does not fit."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct


class Kind(enum.Enum):
    """What something on the disk is."""

    FILE = "file"
    LINK = "link"
    OTHER = "neither a file nor a link"


class Entry(Struct, gc=False):
    """One thing on the disk that is no folder; ``path`` is relative to the prefix, ``size`` in bytes."""

    path: str
    kind: Kind
    size: int
    mode: int

    @property
    def executable(self) -> bool:
        """Whether its owner may run it; the other accounts' bits depend on the umask of whoever installed it."""
        return bool(self.mode & 0o100)


class Owner(Struct, frozen=True):
    """Who put a file there: a conda package, or a Python distribution (``tool`` is ``conda`` or ``pip``)."""

    tool: str
    name: str
    version: str

    def __str__(self) -> str:
        """Return ``name version (tool)``."""
        return f"{self.name} {self.version} ({self.tool})"


class Recorded(Struct, frozen=True, gc=False):
    """What the records say of one path.

    Attributes:
        checksum: of the content on the disk, lower-case hex; empty where nobody noted it.
        algorithm: of the checksum, as :mod:`hashlib` calls it.
        original: sha256 of the content in the package, before the prefix was put in.
        size: bytes on the disk; None where nobody noted it or what is noted is the size in the package.
        link: it is a symbolic link; None where nobody noted that.
        command: it was written at installation to start a Python function, so it must be executable.
        placeholder: text in the package that the prefix has replaced; empty where there is none.
        padded: the replacement kept the length by NUL bytes, as is needed in a binary.
        cached: it may be a symbolic link into the installer's cache in place of a file.
    """

    owner: Owner
    checksum: str = ""
    algorithm: str = "sha256"
    original: str = ""
    size: int | None = None
    link: bool | None = False
    command: bool = False
    placeholder: str = ""
    padded: bool = False
    cached: bool = False


class Package(Struct, frozen=True):
    """Which conda package is there; ``checksum`` is the sha256 of its archive, or its md5 if that is all there is."""

    name: str
    version: str
    build: str
    subdir: str
    checksum: str


class Problem(enum.Enum):
    """What is wrong: with a path, or with all of it (``UNFINISHED``), or that it was changed since (``DRIFTED``)."""

    UNFINISHED = "unfinished"
    DRIFTED = "drifted"
    ALTERED = "altered"
    MISSING = "missing"
    REPLACED = "replaced"
    COMPILED = "compiled"
    FOREIGN = "foreign"


class Finding(Struct, frozen=True):
    """One path that is not as recorded.

    Attributes:
        path: relative to the prefix; for a package or a variable, the note that says or said so.
        owners: who has it in its records; for a replaced file, the conda package first and then who replaced it.
        detail: what is different, in a few words.
    """

    problem: Problem
    path: str
    owners: tuple[Owner, ...] = ()
    detail: str = ""


class Report(Struct, frozen=True):
    """What a check found.

    Attributes:
        findings: sorted by problem and path.
        files: how many files and links were looked at.
        size: bytes of the files.
        unverifiable: how many files have an owner that has noted no checksum (full check), or no size (stat-only).
        contents: whether contents were read.
    """

    findings: tuple[Finding, ...]
    files: int
    size: int
    unverifiable: int
    contents: bool


class Digest(Struct, frozen=True):
    """What an environment comes to, wherever it lives.

    Attributes:
        value: 64 hex digits.
        parts: the same for ``packages``, ``pip``, ``variables`` and ``files`` alone, to see where two differ.
        files: how many files and links count.
    """

    value: str
    parts: Mapping[str, str]
    files: int
