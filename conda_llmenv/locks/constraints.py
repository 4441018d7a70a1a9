"""``constraints.txt`` for ``pip install -c``: the version of every distribution of the pip section, nothing else.

What conda installs is left out: conda-forge's builds of some distributions have another version in their metadata than
in their record (pytorch 2.4.1 was 2.4.1.post300: conda-forge/pytorch-cpu-feedstock#315), and pip would replace
what a constraint does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator

from conda_llmenv.errors import InputError
from conda_llmenv.locks.header import with_head
from conda_llmenv.locks.pip_index import index_of, local_version
from conda_llmenv.model import Lock, PipPackage
from conda_llmenv.redact import strip


def write(lock: Lock) -> str:
    """Return the constraints of the first platform: UTF-8 text, line feeds, the same for the same environment.

    A distribution without a known version, such as a folder, is named in a comment; so is the index of a local version:
    a constraint says what may be installed, not where from.

    Raises:
        InputError: a version is none.
    """
    packages = sorted(lock.platforms[0].pip, key=lambda package: package.name)
    lines = [line for package in packages for line in _lines(package, lock)]
    return with_head("\n".join((*lines, "")), lock.facts, lock.specs, lock.input_hash)


def _lines(package: PipPackage, lock: Lock) -> Iterator[str]:
    if package.version is None:
        yield f"# {package.name}: its version is not known before it is built"
        return
    if not package.version.isprintable() or " " in package.version:
        raise InputError(f"{package.version!r} is no version of {package.name}")
    index = index_of(package, lock.pip_options) if local_version(package) else None
    if index is not None:
        yield f"# {package.name} {package.version} comes from {strip(index)}"
    yield f"{package.name}=={package.version}"
