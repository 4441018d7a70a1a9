"""A distribution as one entry of a lockfile that has one address for it, and back.

Our model keeps every acceptable file; pixi and conda-lock have room for one. It is the one the resolver chose if that
is known, else the wheel that pip would take on that platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from conda_llmenv.model import LockedPlatform, PipArtifact, PipPackage
from conda_llmenv.redact import strip

GLIBC_MINORS = (*range(28, 4, -1), *range(29, 61))
"""Minor versions of glibc 2 that a wheel may need, best first: what runs on 2.28 (2018) before what needs more."""

_MANYLINUX = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_LINUX = {"linux-64": "x86_64", "linux-aarch64": "aarch64", "linux-ppc64le": "ppc64le", "linux-s390x": "s390x"}
_MAC = {"osx-64": "x86_64", "osx-arm64": "arm64"}
_WINDOWS = {"win-64": "win_amd64", "win-arm64": "win_arm64", "win-32": "win32"}
_MACOS = (15, 0)
_COMMIT = re.compile(r"[0-9a-f]{40}")


class Entry(Struct, frozen=True):
    """One distribution with one address.

    Attributes:
        name: normalised name.
        version: PEP 440 version.
        url: clean address of the file or, for a commit, of the repository.
        sha256, md5: hashes of the file, lower-case hex.
        commit: 40 digits; empty for a file.
        folder: part of the repository to build; mostly empty.
        direct: asked for by its address.
    """

    name: str
    version: str
    url: str
    sha256: str | None = None
    md5: str | None = None
    commit: str = ""
    folder: str = ""
    direct: bool = False

    @property
    def pip_address(self) -> str:
        """The address as pip takes it."""
        if not self.commit:
            return self.url
        return f"git+{self.url}@{self.commit}" + (f"#subdirectory={self.folder}" if self.folder else "")

    def package(self) -> PipPackage:
        """Return the distribution that an entry pins."""
        if self.commit:
            line = f"{self.name} @ {self.pip_address}"
            return PipPackage(self.name, self.version, line, built=True, direct=True)
        hashes = tuple(f"{kind}:{digest}" for kind, digest in (("sha256", self.sha256), ("md5", self.md5)) if digest)
        return PipPackage(
            self.name,
            self.version,
            f"{self.name} @ {self.url}" if self.direct else f"{self.name}=={self.version}",
            hashes,
            built=not urlsplit(self.url).path.endswith(".whl"),
            url=self.url,
            direct=self.direct,
            artifacts=(PipArtifact(self.url, hashes),),
        )


def git_entry(name: str, version: str, address: str) -> Entry | None:
    """Return the entry of a ``git+…`` address that names its commit, as pip, conda-lock or pixi spell it.

    pip and conda-lock write ``git+URL@COMMIT#subdirectory=FOLDER``; pixi writes ``git+URL?rev=ASKED#COMMIT``, with
    ``subdirectory=FOLDER`` among what follows the question mark. None for anything else.
    """
    if not address.startswith("git+"):
        return None
    base, _, fragment = strip(address).removeprefix("git+").partition("#")
    path, _, query = base.partition("?")
    repository, at, reference = path.rpartition("@")
    if not at or "/" in reference:  # the @ of git@host
        repository, reference = path, ""
    commit = next((text for text in (fragment, reference) if _COMMIT.fullmatch(text)), "")
    settings = (text.partition("=") for text in (*query.split("&"), *fragment.split("&")))
    folder = next((unquote(value) for key, _, value in settings if key == "subdirectory"), "")
    return Entry(name, version, repository, commit=commit, folder=folder, direct=True) if commit else None


def entry_of(package: PipPackage, platform: LockedPlatform) -> Entry:
    """Return a distribution as an entry with one address.

    Raises:
        ValueError: that is impossible; the text is the reason, one clause.
    """
    if package.version is None:
        raise ValueError("has no version before it is built")
    address = _direct_address(package.requirement)
    if address.startswith("git+"):
        entry = git_entry(package.name, package.version, address)
        if entry is None:
            raise ValueError("comes from a repository, without the commit")
        return entry
    if package.requirement.startswith("-e ") or address.startswith("file://"):
        raise ValueError("lies on this machine")
    artifact = _artifact(package, platform)
    if artifact is None:
        raise ValueError(f"has no known file for {platform.subdir}")
    found = dict(text.split(":", 1) for text in artifact.hashes if ":" in text)
    if "sha256" not in found:
        raise ValueError("has no sha256")
    return Entry(
        package.name,
        package.version,
        strip(artifact.url),
        found["sha256"],
        found.get("md5"),
        direct=package.direct,
    )


def _direct_address(line: str) -> str:
    try:
        return Requirement(line).url or ""
    except InvalidRequirement:
        return ""


def _artifact(package: PipPackage, platform: LockedPlatform) -> PipArtifact | None:
    known = package.artifacts or tuple(_only(package))
    python = platform.record("python")
    ranks = _ranks(platform.subdir, ".".join(python.version.split(".")[:2]) if python else "")
    ranked = [(rank, artifact) for artifact in known if (rank := _rank(artifact.url, ranks)) is not None]
    chosen = next((artifact for _, artifact in ranked if artifact.url == package.url), None)
    return chosen or (min(ranked, key=lambda one: (one[0], one[1].url))[1] if ranked else None)


def _only(package: PipPackage) -> Iterator[PipArtifact]:
    """Yield the file of a package whose files are not told apart, if it is clear which hash is its own."""
    if package.url and len({text.split(":")[0] for text in package.hashes}) == len(package.hashes):
        yield PipArtifact(package.url, package.hashes, package.size)


def _rank(url: str, ranks: dict[Tag, int]) -> int | None:
    """Return how well a file fits, 0 best; a source archive fits everywhere, last; None for another platform's."""
    file_name = unquote(urlsplit(url).path.rpartition("/")[2])
    if not file_name.endswith(".whl"):
        return len(ranks)
    try:
        tags = parse_wheel_filename(file_name)[3]
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


def file_version(url: str) -> tuple[str, str] | None:
    """Return the normalised name and the version that the name of a wheel or source archive says, or None."""
    file_name = unquote(urlsplit(url).path.rpartition("/")[2])
    try:
        if file_name.endswith(".whl"):
            name, version = parse_wheel_filename(file_name)[:2]
        else:
            name, version = parse_sdist_filename(file_name)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return canonicalize_name(name), str(version)


def same_version(one: str, other: str) -> bool:
    """Return whether two PEP 440 versions are equal; texts that are no versions are compared as they are."""
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other
