"""What the pinned line of a distribution names: a version, a file, a folder or a commit."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urldefrag, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.compose.pip_lines import Include, Line, Option, parse_line
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.locks.repositories import split_reference
from conda_llmenv.model import Lock, Notice, PipKind, PipPackage
from conda_llmenv.redact import mask

_ARCHIVE = re.compile(r"\.(?:whl|zip|tar\.gz|tgz|tar\.bz2|tar\.xz)\Z", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Target(Struct, frozen=True):
    """What a line names.

    Attributes:
        kind: NAMED for a version, VCS, EDITABLE (a folder), else a file or a folder.
        text: the line as an installer reads it.
        url: of the file, folder or repository; without the commit and the folder inside.
        program: version control, such as ``git``.
        reference: the commit, branch or tag behind the repository; empty where nothing does.
        path: of a local folder.
        subdirectory: the folder inside that holds the sources.
        marker: on which platforms it holds.
    """

    kind: PipKind
    text: str
    url: str = ""
    program: str = ""
    reference: str = ""
    path: str | None = None
    subdirectory: str | None = None
    marker: str = ""

    @property
    def is_archive(self) -> bool:
        """Whether it is one file, which can have a hash."""
        return bool(self.url) and _ARCHIVE.search(urlsplit(self.url).path) is not None

    @property
    def why_unhashed(self) -> str:
        """Why nothing of it can have a hash; empty where something can."""
        if self.kind is PipKind.NAMED or (self.is_archive and self.kind not in (PipKind.VCS, PipKind.EDITABLE)):
            return ""
        return "a repository has no file to hash" if self.kind is PipKind.VCS else "a folder has no hash"


def target_of(package: PipPackage) -> Target:
    """Return what the line of a package names.

    Raises:
        Unreadable: it is no line that an installer would read.
    """
    text = package.requirement or f"{package.name}=={package.version}"
    if _CONTROL.search(text):
        raise Unreadable(f"{mask(text)[:80]!r} holds a control character")
    parsed = parse_line(text)
    if len(parsed) != 1 or isinstance(parsed[0], (Option, Include)):
        raise Unreadable(f"{mask(text)[:80]!r} is no requirement")
    return target_of_line(parsed[0])


def local_path_notices(lock: Lock) -> tuple[Notice, ...]:
    """Return a notice for each distribution that lies on the machine that writes the lock: nobody else has it."""
    packages = {one.name: one for platform in lock.platforms for one in platform.pip}
    return tuple(_local_notice(one, place) for one in packages.values() if (place := _local_place(one)))


def _local_notice(package: PipPackage, place: str) -> Notice:
    return Notice(
        "path-of-this-machine",
        f"{package.name} lies on this machine, at {mask(place)}: no other machine can install it from this lock",
        hint="lock it from a repository (`NAME @ git+URL@COMMIT`) or from an index",
    )


def _local_place(package: PipPackage) -> str:
    """Return where a distribution lies, empty where all of its files have an address others can reach."""
    target = target_of(package)
    if target.path is not None or target.url.startswith("file://"):
        return target.path or target.url
    files = [one.url for one in package.artifacts]
    return files[0] if files and all(url.startswith("file://") for url in files) else ""


def target_of_line(line: Line) -> Target:
    """Return what a line names, as it was parsed."""
    if line.kind is PipKind.NAMED:
        return Target(line.kind, line.text, marker=line.marker)
    address = line.text.removeprefix("-e ").partition(" ; ")[0].partition(" --")[0]
    address, fragment = urldefrag(re.sub(r"\A[\w.-]+(?:\[[^\]]*\])?\s*@\s*", "", address).strip())
    subdirectory = next(iter(parse_qs(fragment).get("subdirectory", ())), None)
    place = Target(line.kind, line.text, address, subdirectory=subdirectory, marker=line.marker)
    if "+" in urlsplit(address).scheme:
        return _repository(place)
    path = line.location if line.location is not None and "://" not in line.location else None
    return replace(place, path=path)


def _repository(place: Target) -> Target:
    program, _, url = place.url.partition("+")
    repository, reference = split_reference(url)
    return replace(place, kind=PipKind.VCS, url=repository, program=program, reference=reference)
