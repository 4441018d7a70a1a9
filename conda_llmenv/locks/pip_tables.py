"""A distribution as a table of the array ``packages`` of a ``pylock.toml`` (PEP 751), and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from packaging.utils import canonicalize_name

from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.locks.distribution_files import (
    file_name,
    file_url,
    file_version,
    files_of,
    is_wheel,
    same_version,
)
from conda_llmenv.locks.pip_hashes import hash_table
from conda_llmenv.locks.pip_targets import Target, target_of
from conda_llmenv.locks.repositories import is_commit
from conda_llmenv.model import PipArtifact, PipKind, PipPackage
from conda_llmenv.redact import strip


class File(Struct, frozen=True):
    """A wheel, a source archive of an index, or an archive asked for by its address."""

    url: str | None = None
    path: str | None = None
    name: str | None = None
    size: Annotated[int, Meta(ge=0)] | None = None
    hashes: dict[str, str] = {}
    subdirectory: str | None = None

    @property
    def address(self) -> str:
        """Where it is; a path as a ``file:`` URL, and empty where nothing says it."""
        return self.url or (file_url(self.path) if self.path else "")

    @property
    def file_name(self) -> str:
        """Its name, unquoted."""
        return self.name or file_name(self.address)


class Vcs(Struct, frozen=True, rename="kebab"):
    """A commit of a repository."""

    type: str
    commit_id: str
    url: str | None = None
    path: str | None = None
    subdirectory: str | None = None


class Directory(Struct, frozen=True):
    """A local folder with sources."""

    path: str
    editable: bool = False
    subdirectory: str | None = None


class Table(Struct, frozen=True, rename="kebab"):
    """One distribution; what we make nothing of is left out."""

    name: str
    version: str | None = None
    marker: str | None = None
    index: str | None = None
    vcs: Vcs | None = None
    directory: Directory | None = None
    archive: File | None = None
    sdist: File | None = None
    wheels: tuple[File, ...] = ()

    @property
    def files(self) -> tuple[File, ...]:
        """Every file: wheels first, then sources."""
        return (*self.wheels, *(one for one in (self.sdist, self.archive) if one is not None))

    @property
    def sources(self) -> tuple[object, ...]:
        """The ways it says to get it, of which a distribution has one."""
        indexed = (self.wheels or self.sdist) or None
        return tuple(one for one in (self.vcs, self.directory, self.archive, indexed) if one is not None)


def read_table(data: Any) -> Table:
    """Return a table as what it says.

    Raises:
        Unreadable: something is missing or of another type.
    """
    try:
        return msgspec.convert(data, Table)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at ")
        where = place.strip("`").removeprefix("$").lstrip(".")
        raise Unreadable(f"{where}: {reason}" if where else reason) from error


def package_of(table: Table) -> PipPackage:
    """Return the package that a table pins.

    Raises:
        Unreadable: it does not say where to take it from.
    """
    name = canonicalize_name(table.name)
    marker = f" ; {table.marker}" if table.marker else ""
    if table.vcs is not None:
        return _from_source(name, table.version, f"{_vcs_line(name, table.vcs)}{marker}")
    if table.directory is not None:
        return _from_source(name, table.version, f"{_directory_line(name, table.directory)}{marker}")
    archive, artifacts = table.archive, tuple(map(_artifact, table.files))
    line = f"{name}=={table.version}"
    if archive is not None:
        line = f"{name} @ {archive.address}{_fragment(archive.subdirectory)}"
    return PipPackage(
        name=name,
        version=table.version,
        requirement=f"{line}{marker}",
        hashes=tuple(dict.fromkeys(text for one in artifacts for text in one.hashes)),
        built=not (is_wheel(archive.address) if archive is not None else table.wheels),
        size=artifacts[0].size if artifacts else None,
        url=artifacts[0].url if artifacts else None,
        direct=archive is not None,
        artifacts=artifacts,
    )


def _from_source(name: str, version: str | None, line: str) -> PipPackage:
    return PipPackage(name=name, version=version, requirement=line, built=True, direct=True)


def _artifact(file: File) -> PipArtifact:
    if not file.address:
        raise Unreadable("one of its files has neither url nor path")
    return PipArtifact(strip(file.address), tuple(f"{kind}:{hexed}" for kind, hexed in file.hashes.items()), file.size)


def _vcs_line(name: str, vcs: Vcs) -> str:
    address = vcs.url or (file_url(vcs.path) if vcs.path else "")
    if not address:
        raise Unreadable("its repository has neither url nor path")
    return f"{name} @ {vcs.type}+{strip(address)}@{vcs.commit_id}{_fragment(vcs.subdirectory)}"


def _directory_line(name: str, directory: Directory) -> str:
    url = file_url(directory.path)
    if directory.editable:  # pip takes quotes and uv does not; both take the address
        return f"-e {directory.path if url == f'file://{directory.path}' else url}"
    return f"{name} @ {url}{_fragment(directory.subdirectory)}"


def _fragment(subdirectory: str | None) -> str:
    return f"#subdirectory={subdirectory}" if subdirectory else ""


def table_of(package: PipPackage, index: str | None) -> dict[str, Any]:
    """Return a package as a table, its keys in the order of the standard.

    Args:
        package: pinned, with its files where it has some.
        index: the one it comes from, None where nobody knows.

    Raises:
        Unreadable: the standard has no words for it, such as a file without a hash.
    """
    target = target_of(package)
    table: dict[str, Any] = {"name": package.name, "version": package.version, "marker": target.marker or None}
    if target.kind is PipKind.NAMED:
        table |= {"index": None if index is None else strip(index), **_files(package)}
    elif target.kind is PipKind.VCS:
        table["vcs"] = _vcs_table(target)
    elif target.is_archive:
        table["archive"] = _archive_table(package, target)
    else:
        table["directory"] = _directory_table(target)
    return _filled(table)


def _acceptable(package: PipPackage) -> list[PipArtifact]:
    """Return the files of a package that may be installed, each with a hash."""
    hashes = set(package.hashes)
    return [one for one in files_of(package) if one.hashes and (not hashes or hashes & set(one.hashes))]


def _files(package: PipPackage) -> dict[str, Any]:
    files = _acceptable(package)
    if package.version is None or not files:
        raise Unreadable("the addresses and hashes of its files are not known")
    wheels = [_file_table(package, one) for one in files if is_wheel(one.url)]
    sources = [_file_table(package, one) for one in files if not is_wheel(one.url)]
    return {"sdist": sources[0] if sources else None, "wheels": wheels or None}


def _file_table(package: PipPackage, artifact: PipArtifact) -> dict[str, Any]:
    url = strip(artifact.url)
    name = file_name(url)
    check_file(name, package.name, package.version)
    return _filled({"name": name, "url": url, "size": artifact.size, "hashes": hash_table(artifact.hashes)})


def check_file(file: str, name: str, version: str | None) -> None:
    """Check that the name of a wheel or source archive is one of a distribution's version.

    Raises:
        Unreadable: it is another's, or says nothing.
    """
    found = file_version(file_url(f"/{file}"))
    if found is None:
        raise Unreadable(f"{file[:80]!r} is no name of a wheel or source archive")
    if found[0] != canonicalize_name(name) or not same_version(found[1], version or ""):
        raise Unreadable(f"{file[:80]!r} is not {name} {version}")


def _vcs_table(target: Target) -> dict[str, Any]:
    if not target.reference or (target.program == "git" and not is_commit(target.reference)):
        raise Unreadable("its line names no commit")
    return _filled(
        {
            "type": target.program,
            "url": strip(target.url),
            "commit-id": target.reference,
            "subdirectory": target.subdirectory,
        }
    )


def _archive_table(package: PipPackage, target: Target) -> dict[str, Any]:
    if not package.hashes:
        raise Unreadable("the hash of its archive is not known")
    return _filled(
        {
            "url": strip(target.url),
            "size": package.size,
            "hashes": hash_table(package.hashes),
            "subdirectory": target.subdirectory,
        }
    )


def _directory_table(target: Target) -> dict[str, Any]:
    if target.path is None:
        raise Unreadable("its address is neither an archive nor a folder of this machine")
    editable = True if target.kind is PipKind.EDITABLE else None
    return _filled({"path": target.path, "editable": editable, "subdirectory": target.subdirectory})


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def with_paths(data: Any, absolute: Callable[[str], str]) -> Any:
    """Return TOML data with every ``path`` in it replaced by what ``absolute`` makes of it."""
    if isinstance(data, list):
        return [with_paths(one, absolute) for one in data]
    if not isinstance(data, dict):
        return data
    return {key: absolute(one) if key == "path" else with_paths(one, absolute) for key, one in data.items()}
