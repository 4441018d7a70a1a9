"""Which series of pytorch the composed specs leave, and the CUDA versions each was built for."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from conda_llmenv.hardware.asked import match_spec, origins_of
from conda_llmenv.hardware.tables import Tables
from conda_llmenv.hardware.versions import permits
from conda_llmenv.model import EnvSpec, MergedSpec

PATCHES = 5
"""Third numbers of torch releases tried: no series had more."""

PYTHON_PATCHES = 30
"""Third numbers of Python releases tried."""

OLDEST_PYTHON = Version("3.6")
"""Python from which series count that are older than the table of wheels; none of them ran on a newer Python."""

NAMES = ("pytorch", "pytorch-gpu", "libtorch")
"""Packages that share pytorch's version."""


def has_build(spec: EnvSpec, cuda: Version, tables: Tables) -> bool:
    """Return whether a pytorch that the specs permit was built for ``cuda``; True where the tables cannot tell."""
    left = series_left(spec, tables)
    return not left or any(_built_for(name, cuda, tables) for name in left)


def series_left(spec: EnvSpec, tables: Tables) -> tuple[str, ...]:
    """Return the series that the specs of pytorch and Python permit, ascending; none where no spec asks for it."""
    asked = _asked(spec)
    if not asked:
        return ()
    return tuple(
        name
        for name in _known(tables)
        if all(_permits(merged, _spellings(name, tables)) for merged in asked) and _fits_python(name, spec, tables)
    )


def newest_built_for(cuda: Version, spec: EnvSpec, tables: Tables) -> str | None:
    """Return the newest series that was built for ``cuda`` and runs on the Python asked for, None if there is none."""
    fitting = [name for name in _known(tables) if _built_for(name, cuda, tables) and _fits_python(name, spec, tables)]
    return fitting[-1] if fitting else None


def oldest_major(spec: EnvSpec, tables: Tables) -> int | None:
    """Return the oldest CUDA major that a permitted pytorch was built for, None where the tables cannot tell."""
    return min((cuda.major for name in series_left(spec, tables) for cuda in _variants(name, tables)), default=None)


def asked_words(spec: EnvSpec) -> str:
    """Return what asks for pytorch, with its places: ``pytorch >=2.8 (envs/pytorch.yml:12)``."""
    return ", ".join(
        f"{' and '.join(dict.fromkeys(part.value for part in merged.parts))} "
        f"({', '.join(origin.where for origin in origins_of(merged))})"
        for merged in _asked(spec)
        if merged.name == NAMES[0] or any(match_spec(text).version for text in merged.texts)
    )


def _asked(spec: EnvSpec) -> list[MergedSpec]:
    return [merged for name in NAMES if (merged := spec.spec(name))]


def _known(tables: Tables) -> list[str]:
    names = {*tables.conda_torch, *(str(release.series) for release in tables.torch)}
    return sorted(names, key=Version)


def _variants(name: str, tables: Tables) -> tuple[Version, ...]:
    release = tables.torch_release(Version(name))
    return tables.conda_torch.get(name) or (release.variants if release else ())


def _built_for(name: str, cuda: Version, tables: Tables) -> bool:
    """The closed channel ``pytorch`` had exactly the listed CUDA; conda-forge has some minor of the same majors."""
    if name in tables.conda_torch:
        return cuda in tables.conda_torch[name]
    return cuda.major in {variant.major for variant in _variants(name, tables)}


def _spellings(name: str, tables: Tables) -> Iterator[str]:
    release = tables.torch_release(Version(name))
    yield from (name, *(f"{name}.{patch}" for patch in range(PATCHES)))
    if release:
        yield str(release.latest)


def _fits_python(name: str, spec: EnvSpec, tables: Tables) -> bool:
    merged = spec.spec("python")
    if merged is None:
        return True
    release = tables.torch_release(Version(name))
    first, last = release.python if release else (OLDEST_PYTHON, tables.torch[-1].python[1])
    minors = [f"{first.major}.{number}" for number in range(first.minor, last.minor + 1)]
    return _permits(merged, [text for one in minors for text in (one, *(f"{one}.{n}" for n in range(PYTHON_PATCHES)))])


def _permits(merged: MergedSpec, versions: Iterator[str] | list[str]) -> bool:
    """Whether every constraint permits some of the versions; one that cannot be read permits all."""
    known = list(versions)
    return all(permits(match_spec(text).version, known) is not False for text in merged.texts)
