"""What the composed specs say about CUDA and frameworks before anything is solved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from packaging.version import Version

from conda_llmenv.hardware.builds import BuildKind, cuda_in, glob_kind
from conda_llmenv.hardware.tables import CudaPackage, Tables
from conda_llmenv.hardware.versions import permits
from conda_llmenv.model import EnvSpec, MergedSpec, Origin

UPDATES = 10
"""Third numbers tried for a CUDA minor: no release had more updates."""


class CudaAsk(Struct, frozen=True):
    """One spec that limits CUDA.

    Attributes:
        name: the package.
        text: what was written (joined where several layers ask).
        allowed: the CUDA minors it leaves, ascending; never empty.
        origins: where it was written.
    """

    name: str
    text: str
    allowed: tuple[Version, ...]
    origins: tuple[Origin, ...]

    @property
    def where(self) -> str:
        """Text and place, such as ``cudatoolkit=11.1 (environment.yml:8)``."""
        return f"{self.text} ({', '.join(origin.where for origin in self.origins)})"


def cuda_asks(spec: EnvSpec, tables: Tables) -> tuple[CudaAsk, ...]:
    """Return every spec that limits which CUDA may be chosen, in spec order."""
    return tuple(ask for merged in spec.specs for ask in _asks_of(merged, tables))


def _asks_of(merged: MergedSpec, tables: Tables) -> Iterator[CudaAsk]:
    allowed = _allowed(merged, tables)
    if allowed:
        text = " and ".join(dict.fromkeys(part.value for part in merged.parts)) or merged.name
        yield CudaAsk(merged.name, text, allowed, origins_of(merged))


def _allowed(merged: MergedSpec, tables: Tables) -> tuple[Version, ...]:
    package = tables.cuda_packages.get(merged.name)
    parsed = [match_spec(text) for text in merged.texts]
    if package is not None:
        return _permitted([spec.version for spec in parsed], package, tables)
    named = cuda_in(merged.name) or next(
        (found for spec in parsed if spec.build and (found := cuda_in(spec.build))), None
    )
    return (named,) if named else ()


def _permitted(specs: Iterable[str | None], package: CudaPackage, tables: Tables) -> tuple[Version, ...]:
    """The CUDA minors that every version spec permits, as far as the package exists for them."""
    versions = list(specs)
    candidates = package.versions or tables.cuda_versions()
    return tuple(
        cuda
        for cuda in candidates
        if (package.newest is None or cuda <= package.newest)
        and all(permits(version, spellings(cuda, tables)) for version in versions)
    )


def spellings(cuda: Version, tables: Tables) -> tuple[str, ...]:
    """Return the versions under which packages of a CUDA minor were published: ``11.1``, ``11.1.0`` …, ``11.1.74``."""
    known = [patch for patch in tables.patch_releases if patch.startswith(f"{cuda}.")]
    return (str(cuda), *(f"{cuda}.{update}" for update in range(UPDATES)), *known)


def match_spec(text: str) -> ParsedSpec:
    """Return name, version and build of a MatchSpec as a person writes it."""
    from rattler import MatchSpec

    parsed = MatchSpec(text, strict=False)
    return ParsedSpec(
        version=str(parsed.version) if parsed.version is not None else None,
        build=str(parsed.build) if parsed.build is not None else None,
    )


class ParsedSpec(Struct, frozen=True):
    """The parts of a MatchSpec that matter here."""

    version: str | None
    build: str | None


def origins_of(merged: MergedSpec) -> tuple[Origin, ...]:
    """Return where a package was asked for, each place once."""
    return tuple(dict.fromkeys(part.origin for part in merged.parts))


def asked_kind(spec: EnvSpec, name: str, chosen_by: Iterable[str]) -> BuildKind | None:
    """Return the kind of build of a framework that was asked for, None if none was.

    One of the packages ``chosen_by`` (``pytorch-cpu``) asks for a CPU build by name, a build glob for the kind in it.
    """
    if any(spec.spec(other) for other in chosen_by):
        return BuildKind.CPU
    merged = spec.spec(name)
    builds = [match_spec(text).build for text in merged.texts] if merged else []
    return next((kind for build in builds if build and (kind := glob_kind(build))), None)


def requested(spec: EnvSpec, record_name: str, via: Iterable[str] = ()) -> tuple[Origin, ...]:
    """Return where a package, or one of those that bring it, was asked for."""
    for name in (record_name, *via):
        merged = spec.spec(name)
        if merged:
            return origins_of(merged)
    return ()
