"""Whether a lock has what the pip section asks for: names, versions, addresses and commits; no index is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from conda_llmenv.locks.dependencies import dependency_parts
from conda_llmenv.locks.fields import INDEX, address_of, pip_fields
from conda_llmenv.locks.markers import applies
from conda_llmenv.locks.moved import provides
from conda_llmenv.locks.repositories import is_commit, split_reference
from conda_llmenv.model import LockedPlatform, PipKind, PipPackage, PipRequirement, Record
from conda_llmenv.redact import mask


def pip_misfits(requirements: Iterable[PipRequirement], platform: LockedPlatform) -> Iterator[str]:
    """Yield, in sentences, what the pip section asks for and the lock does not have.

    What a marker leaves out on this platform, and a folder or an archive whose name nobody knows before it is built,
    is not missed. What conda brings in a version that fits need not be pip's.
    """
    locked = {canonicalize_name(package.name): package for package in platform.pip}
    wanted = [one for one in requirements if one.name is not None and applies(one.marker, platform)]
    for one in wanted:
        name = canonicalize_name(one.name or "")
        package = locked.get(name)
        why = _missing(one, name, platform.records) if package is None else _unfit(one, package)
        if why:
            yield f"{mask(one.text)} ({one.origin.where}) {why}"


def pip_unmet(platform: LockedPlatform) -> Iterator[tuple[PipPackage, str]]:
    """Yield each distribution with what its metadata asks for and neither pip nor conda brings; versions are not seen.

    Most locks say nothing of what a distribution asks for, and nothing is missed there.
    """
    locked = {canonicalize_name(package.name) for package in platform.pip}
    for package in platform.pip:
        for text in package.depends:
            name, marker = _asked(text)
            if name in locked or not applies(marker, platform):
                continue
            if not any(provides(record, name) for record in platform.records):
                yield package, text


def _asked(text: str) -> tuple[str, str]:
    """Return name and marker of a dependency: PEP 508, or a name with a constraint of conda-lock's."""
    try:
        parsed = Requirement(text)
    except InvalidRequirement:
        return canonicalize_name(dependency_parts(text)[0]), ""
    return canonicalize_name(parsed.name), str(parsed.marker or "")


def _missing(one: PipRequirement, name: str, records: Sequence[Record]) -> str:
    record = next((record for record in records if provides(record, name)), None)
    if record is None:
        return "is not in the lock"
    if one.kind is PipKind.NAMED and _contains(one.specifier, record.version):
        return ""
    return f"is not in the lock, which has conda's {record.name} {record.version}"


def _unfit(one: PipRequirement, package: PipPackage) -> str:
    """Return why a locked distribution is not what is asked for; empty where it is, or where nobody can tell."""
    if one.kind is PipKind.NAMED:
        fits = package.version is None or _contains(one.specifier, package.version)
        return "" if fits else f"is not what is locked: {package.version}"
    if one.kind not in {PipKind.URL, PipKind.VCS}:
        return ""
    origin = pip_fields(package).get("origin", INDEX)
    asked = address_of(one.text, package.name)
    files = {origin, package.url, *(artifact.url for artifact in package.artifacts)}
    fits = _same_repository(asked, origin) if one.kind is PipKind.VCS else asked in files
    return "" if fits else f"is not what is locked: {package.version or package.name} from {mask(origin)}"


def _same_repository(asked: str, locked: str) -> bool:
    """Return whether a commit that is locked can be what was asked for: a branch or tag may stand for any."""
    wanted, found = _taken_apart(asked), _taken_apart(locked)
    same_place = wanted[0] == found[0] and wanted[2] == found[2]
    return same_place and (wanted[1] == found[1] or not is_commit(wanted[1]))


def _taken_apart(address: str) -> tuple[str, str, str]:
    """Return the repository, the commit, branch or tag (or nothing), and the folder inside."""
    place, _, folder = address.partition("#")
    repository, reference = split_reference(place)
    return repository.removesuffix(".git"), reference, folder


def _contains(specifier: str, version: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True
