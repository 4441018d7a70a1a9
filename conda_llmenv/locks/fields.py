"""What a lock says of one package, field by field, and when two sides say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from conda_llmenv.compose.pip_lines import Line, parse_line
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.locks.dependencies import spec_name
from conda_llmenv.locks.distribution_files import same_version
from conda_llmenv.locks.pip_entries import git_entry
from conda_llmenv.model import PipKind, PipPackage, Record
from conda_llmenv.redact import strip

COMPARED = ("version", "build", "archive", "channel", "origin", "hash")
"""The fields in which two packages of one name may differ, the most telling first."""

INDEX = "index"
"""The origin of a distribution that was asked for by name."""

Fields = Mapping[str, str]
"""Field → text; a field that is not said is missing. Hashes are ``algorithm:digest``, sorted, separated by blanks."""

_NAMED_ADDRESS = re.compile(r"[A-Za-z0-9][\w.-]*\s*(\[[^\]]*\])?\s*@\s*")
_ARCHIVES = (".conda", ".tar.bz2")
_STRENGTH = ("sha512", "sha384", "sha256", "sha224", "sha1", "md5")


def conda_fields(record: Record) -> dict[str, str]:
    """Return what is said of a conda package."""
    hashes = (("sha256", record.sha256), ("md5", record.md5))
    return _said(
        installer="conda",
        name=record.name,
        version=record.version,
        build=record.build,
        archive=next((end for end in _ARCHIVES if record.file_name.endswith(end)), ""),
        channel=strip(record.channel).rstrip("/"),
        hash=" ".join(sorted(f"{name}:{digest.lower()}" for name, digest in hashes if digest)),
    )


def pip_fields(package: PipPackage) -> dict[str, str]:
    """Return what is said of a distribution."""
    return _said(
        installer="pip",
        name=package.name,
        version=package.version or "",
        origin=_origin(package),
        hash=" ".join(sorted({one.lower() for one in package.hashes})),
    )


def comparable(field: str, one: Fields, other: Fields) -> bool:
    """Return whether both sides say a field, hashes by an algorithm they share."""
    if not one.get(field) or not other.get(field):
        return False
    return field != "hash" or bool(_shared_algorithm(one, other))


def same(field: str, one: Fields, other: Fields) -> bool:
    """Return whether two packages agree in a field that both say.

    Two sets of acceptable files agree if they share one: a lock for one platform keeps fewer than one for several.
    """
    if field == "hash":
        return _same_hash(one, other)
    if field == "channel":
        return same_channel(one[field], other[field])
    if field == "origin":
        return one[field] == other[field] or _same_file(one, other)
    if field == "version" and one["installer"] == other["installer"] == "pip":
        return same_version(one[field], other[field])
    return one[field] == other[field]


def _same_file(one: Fields, other: Fields) -> bool:
    """Return whether one side names a distribution and the other the very file of it."""
    named = INDEX in {one["origin"], other["origin"]}
    commit = any(fields["origin"].startswith("git+") for fields in (one, other))
    return named and not commit and comparable("hash", one, other) and _same_hash(one, other)


def same_channel(one: str, other: str) -> bool:
    """Return whether two channels, each a name or an address, are one; a name may be the end of an address."""
    one, other = (strip(text).rstrip("/") for text in (one, other))
    if one == other or ("://" in one) == ("://" in other):
        return one == other
    address, name = (one, other) if "://" in one else (other, one)
    return bool(name) and address.endswith(f"/{name}")


def strongest(algorithms: Iterable[str]) -> str:
    """Return the hash algorithm that is hardest to fool; empty for none."""
    known = set(algorithms)
    return next((name for name in _STRENGTH if name in known), min(known, default=""))


def direction(before: str, after: str) -> str:
    """Return ``up`` or ``down`` by conda's order of versions; empty for two spellings of one, or for no version."""
    from rattler import Version
    from rattler.exceptions import InvalidVersionError

    try:
        old, new = Version(before), Version(after)
    except InvalidVersionError:
        return ""
    return "up" if old < new else "down" if new < old else ""


def _said(**fields: str) -> dict[str, str]:
    return {field: text for field, text in fields.items() if text}


def _origin(package: PipPackage) -> str:
    """Return where a distribution comes from: ``index``, an address, a commit or a path, free of secrets."""
    line = _parsed(package.requirement)
    if line is None or line.kind is PipKind.NAMED:
        return INDEX if not package.direct else strip(package.url or "")
    if line.kind is PipKind.URL and package.url and not package.direct:
        return INDEX  # the file an index offered, which some formats write instead of the name
    return address_of(line.text, package.name)


def address_of(requirement: str, name: str) -> str:
    """Return where a requirement that is not asked for by name comes from, in one spelling and free of secrets.

    Args:
        requirement: ``name @ address``, an address, or a path; its marker, options and hash are left out.
        name: of the distribution.
    """
    match = _NAMED_ADDRESS.match(requirement)
    target = strip(requirement[match.end() if match else 0 :].partition(" ;")[0].partition(" --")[0].strip())
    commit = git_entry(name, "", target)
    return commit.pip_address if commit is not None else _without_hash(target)


def _parsed(requirement: str) -> Line | None:
    try:
        (line,) = parse_line(requirement)
    except (Unreadable, ValueError):
        return None
    return line if isinstance(line, Line) else None


def _without_hash(target: str) -> str:
    """Return an address without the parts of its fragment that do not say where it is."""
    address, _, fragment = target.partition("#")
    kept = "&".join(part for part in fragment.split("&") if part.startswith("subdirectory="))
    return f"{address}#{kept}" if kept else address


def _hashes(fields: Fields) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for text in fields["hash"].split():
        algorithm, _, digest = text.partition(":")
        found.setdefault(algorithm, set()).add(digest)
    return found


def _shared_algorithm(one: Fields, other: Fields) -> str:
    return strongest(_hashes(one).keys() & _hashes(other).keys())


def _same_hash(one: Fields, other: Fields) -> bool:
    algorithm = _shared_algorithm(one, other)
    return not algorithm or not _hashes(one)[algorithm].isdisjoint(_hashes(other)[algorithm])


def specs_by_package(specs: Iterable[str]) -> dict[str, list[str]]:
    """Return the conda specs of each package, sorted and free of secrets."""
    found: dict[str, list[str]] = {}
    for text in sorted(set(map(strip, specs))):
        found.setdefault(spec_name(text), []).append(text)
    return found
