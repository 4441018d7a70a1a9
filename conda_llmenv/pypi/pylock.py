"""A resolution in the standard lock format (PEP 751) as packages of a plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from conda_llmenv.locks.pip_tables import Table, package_of, read_table, with_paths
from conda_llmenv.locks.pip_toml import loads
from conda_llmenv.model import PipArtifact, PipPackage


def parse_pylock(lock: Path, stubs: Path) -> tuple[PipPackage, ...]:
    """Return the packages of a lock file, without those whose archive lies in the folder ``stubs``.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no lock text.
    """

    def absolute(path: str) -> str:
        """Return a path as it is meant: relative to the lock."""
        return str((lock.parent / path).resolve())

    data = with_paths(loads(lock.read_text(encoding="utf-8")), absolute)
    tables = map(read_table, data.get("packages", ()))
    return tuple(package_of(table) for table in tables if not _is_inside(table, stubs))


def _is_inside(table: Table, folder: Path) -> bool:
    path = table.archive.path if table.archive else None
    return path is not None and Path(path).parent == folder.resolve()


def write_preferences(lock: Path, packages: Iterable[PipPackage]) -> None:
    """Write what uv takes from the file it is about to overwrite: the versions to stay with where they fit."""
    named = [package for package in packages if package.version is not None and not package.direct]
    if not named:
        return
    lines = ['lock-version = "1.0"', 'created-by = "llmenv"']
    for package in named:
        lines += ["[[packages]]", f"name = {json.dumps(package.name)}", f"version = {json.dumps(package.version)}"]
    lock.write_text("\n".join((*lines, "")), encoding="utf-8")


def completed(package: PipPackage) -> PipPackage:
    """Return a package with the sizes and hashes of its files filled in, where the lock lacks them and they lie here.

    Only find-links folders give such files; uv before 0.12 writes no hash for them.
    """
    artifacts = tuple(map(_completed, package.artifacts))
    if not artifacts or artifacts == package.artifacts:
        return package
    hashes = package.hashes or tuple(text for artifact in artifacts for text in artifact.hashes)
    return replace(package, size=artifacts[0].size, hashes=hashes, artifacts=artifacts)


def _completed(artifact: PipArtifact) -> PipArtifact:
    path = _local_path(artifact)
    if path is None or (artifact.hashes and artifact.size is not None):
        return artifact
    try:
        size = path.stat().st_size if artifact.size is None else artifact.size
        return replace(artifact, size=size, hashes=artifact.hashes or (f"sha256:{_sha256(path)}",))
    except OSError:
        return artifact


def _local_path(artifact: PipArtifact) -> Path | None:
    return Path(unquote(urlsplit(artifact.url).path)) if artifact.url.startswith("file://") else None


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
