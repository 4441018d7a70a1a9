"""The files of a distribution: what their names say, and which one of several a platform takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit

from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from conda_llmenv.model import PipArtifact, PipPackage

GLIBC_MINORS = (*range(28, 4, -1), *range(29, 61))
"""Minor versions of glibc 2 that a wheel may need, best first: what runs on 2.28 (2018) before what needs more."""

_MANYLINUX = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_LINUX = {"linux-64": "x86_64", "linux-aarch64": "aarch64", "linux-ppc64le": "ppc64le", "linux-s390x": "s390x"}
_MAC = {"osx-64": "x86_64", "osx-arm64": "arm64"}
_WINDOWS = {"win-64": "win_amd64", "win-arm64": "win_arm64", "win-32": "win32"}
_MACOS = (26, 0)


def best_file(
    files: Sequence[PipArtifact], subdir: str, python: str, preferred: str | None = None
) -> PipArtifact | None:
    """Return the file that an installer takes on a platform.

    Args:
        files: all there are; a single one is taken as it is.
        subdir: the platform.
        python: version of CPython there; without one, only wheels for any Python fit.
        preferred: address of the one to take if it fits.
    """
    if len(files) == 1:
        return files[0]
    ranks = _ranks(subdir, ".".join(python.split(".")[:2]))
    fitting = [(rank, file.url, file) for file in files if (rank := _rank(file.url, ranks)) is not None]
    chosen = next((file for _, url, file in fitting if url == preferred), None)
    return chosen or (min(fitting, key=lambda one: one[:2])[2] if fitting else None)


def files_of(package: PipPackage) -> tuple[PipArtifact, ...]:
    """Return the files of a distribution; where they are not told apart, its address if the hashes can be one file's.

    Two hashes of one algorithm are those of two files, and nobody knows which of them lies at the address.
    """
    kinds = {text.partition(":")[0] for text in package.hashes}
    if package.artifacts or not package.url or len(kinds) < len(package.hashes):
        return package.artifacts
    return (PipArtifact(package.url, package.hashes, package.size),)


def is_wheel(url: str) -> bool:
    """Return whether an address is a wheel's."""
    return urlsplit(url).path.endswith(".whl")


def file_name(url: str) -> str:
    """Return the name of the file at an address, unquoted."""
    return unquote(urlsplit(url).path.rpartition("/")[2])


def file_url(path: str) -> str:
    """Return an absolute path as a ``file:`` URL."""
    return f"file://{quote(path)}"


def file_version(url: str) -> tuple[str, str] | None:
    """Return the normalised name and the version that the name of a wheel or source archive says, or None."""
    try:
        if is_wheel(url):
            name, version = parse_wheel_filename(file_name(url))[:2]
        else:
            name, version = parse_sdist_filename(file_name(url))
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return canonicalize_name(name), str(version)


def is_version(text: str) -> bool:
    """Return whether a text is a version (PEP 440)."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def same_version(one: str, other: str) -> bool:
    """Return whether two PEP 440 versions are equal; texts that are no versions are compared as they are."""
    if is_version(one) and is_version(other):
        return Version(one) == Version(other)
    return one == other


def _rank(url: str, ranks: dict[Tag, int]) -> int | None:
    """Return how well a file fits, 0 best; a source archive fits everywhere, last; None for another platform's."""
    if not is_wheel(url):
        return len(ranks)
    try:
        tags = parse_wheel_filename(file_name(url))[3]
    except (InvalidWheelFilename, InvalidVersion):
        return None
    return min((ranks[tag] for tag in tags if tag in ranks), default=None)


@lru_cache(maxsize=8)
def _ranks(subdir: str, python: str) -> dict[Tag, int]:
    numbers = [int(part) for part in python.split(".") if part.isdigit()] or [3]
    platforms = tuple(_platform_tags(subdir))
    tags = [
        *(cpython_tags(numbers, platforms=platforms) if len(numbers) > 1 else ()),
        *compatible_tags(numbers, f"cp{''.join(map(str, numbers))}", platforms),
    ]
    return {tag: rank for rank, tag in enumerate(dict.fromkeys(tags))}


def _platform_tags(subdir: str) -> Iterable[str]:
    if subdir in _LINUX:
        return _linux_tags(_LINUX[subdir])
    if subdir in _MAC:
        return mac_platforms(_MACOS, _MAC[subdir])
    return [_WINDOWS[subdir]] if subdir in _WINDOWS else []


def _linux_tags(machine: str) -> Iterator[str]:
    for minor in GLIBC_MINORS:
        yield f"manylinux_2_{minor}_{machine}"
        if minor in _MANYLINUX:
            yield f"{_MANYLINUX[minor]}_{machine}"
    yield f"linux_{machine}"
