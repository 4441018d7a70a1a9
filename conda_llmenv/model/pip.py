"""The pip side of a plan: what is asked of the installer and what it will install."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from conda_llmenv.model.envspec import PipSection


class PipRequest(Struct, frozen=True):
    """Everything resolving a pip section depends on.

    Attributes:
        section: merged options and requirements.
        python_version: full version of the environment's Python, such as ``3.11.9``.
        provided: distributions that conda installs: normalised name → version. They hold as they are and are never
            taken from an index.
        subdir: conda platform of the target.
        scratch: a private folder for files handed to the installer; the caller removes it.
        offline: use caches only.
        require_hashes: refuse to install anything whose hash is not known beforehand.
        locked: distributions that stay as they are where they fit; uv keeps them, pip does not know how.
    """

    section: PipSection
    python_version: str
    provided: Mapping[str, str] = {}
    subdir: str = "linux-64"
    scratch: Path = Path()
    offline: bool = False
    require_hashes: bool = False
    locked: tuple[PipPackage, ...] = ()


class PipArtifact(Struct, frozen=True):
    """One file of a distribution that an index offers.

    Attributes:
        url: clean address, or ``file://``.
        hashes: ``sha256:…`` and others.
        size: bytes, None if unknown.
    """

    url: str
    hashes: tuple[str, ...] = ()
    size: int | None = None


class PipPackage(Struct, frozen=True):
    """One distribution of a resolved pip section.

    Attributes:
        name: normalised name.
        version: PEP 440 version, None for a requirement whose version is known only after building.
        requirement: the pinned line to install (``name==version``, ``name @ url``, ``-e path``); may hold credentials.
        hashes: ``sha256:…`` of every acceptable artifact; empty where nothing can be hashed.
        built: True if it has to be built from source.
        size: bytes to download of the likely artifact, None if unknown.
        url: address of the artifact, or None.
        origin_text: who asked for it, for display.
        direct: asked for by its address, not by name.
        artifacts: every acceptable file, wheels first; empty where they are not known.
        depends: what its metadata asks for (PEP 508), as far as a lock says; empty where it does not.
    """

    name: str
    version: str | None
    requirement: str
    hashes: tuple[str, ...] = ()
    built: bool = False
    size: int | None = None
    url: str | None = None
    direct: bool = False
    artifacts: tuple[PipArtifact, ...] = ()
    depends: tuple[str, ...] = ()


class PipPlan(Struct, frozen=True):
    """A resolved pip section in two stages.

    Stage 1 is pinned and hashed. ``late`` are requirements that build against what stage 1 installs (flash-attn, git
    sources): they are resolved when it is there, without build isolation. ``pinned_late`` are those of them that a lock
    has resolved, with all they need.
    """

    installer: str
    packages: tuple[PipPackage, ...] = ()
    late: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    seconds: float = 0.0
    pinned_late: tuple[PipPackage, ...] = ()


class PipResult(Struct, frozen=True):
    """What was installed, with the hashes that were checked."""

    installer: str
    packages: tuple[PipPackage, ...]
    seconds: float
