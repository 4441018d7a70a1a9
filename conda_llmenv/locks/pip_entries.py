"""A distribution as one entry of a lockfile that has one address for it, and back.

Our model keeps every acceptable file; pixi and conda-lock have room for one. It is the one the resolver chose if that
is known, else the wheel that pip would take on that platform. A file of a find-links folder keeps its ``file://``; what
was asked for by a path of this machine has no place in a lock.
"""

from __future__ import annotations

from urllib.parse import unquote

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement

from conda_llmenv.locks.distribution_files import best_file, files_of, is_wheel
from conda_llmenv.locks.repositories import is_commit, split_reference
from conda_llmenv.model import LockedPlatform, PipArtifact, PipPackage
from conda_llmenv.redact import strip


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
            built=not is_wheel(self.url),
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
    repository, reference = split_reference(path)
    commit = next((text for text in (fragment, reference) if is_commit(text)), "")
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
    python = platform.record("python")
    artifact = best_file(files_of(package), platform.subdir, python.version if python else "", package.url)
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
