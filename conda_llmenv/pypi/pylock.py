"""A resolution in the standard lock format (PEP 751) as packages of a plan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from conda_llmenv.model import PipPackage
from conda_llmenv.pypi.toml import loads
from conda_llmenv.redact import strip


def parse_pylock(lock: Path, stubs: Path) -> tuple[PipPackage, ...]:
    """Return the packages of a lock file, without those whose archive lies in the folder ``stubs``.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no lock text.
    """
    entries = [_absolute(entry, lock.parent) for entry in loads(lock.read_text(encoding="utf-8")).get("packages", ())]
    return tuple(_package(entry) for entry in entries if not _is_inside(entry, stubs))


def _absolute(entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return an entry whose paths do not depend on the lock's folder."""

    def located(value: Any) -> Any:
        if isinstance(value, list):
            return [located(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {key: str((folder / one).resolve()) if key == "path" else located(one) for key, one in value.items()}

    return {key: located(value) for key, value in entry.items()}


def _is_inside(entry: Mapping[str, Any], folder: Path) -> bool:
    path = entry.get("archive", {}).get("path")
    return path is not None and Path(path).parent == folder.resolve()


def _package(entry: Mapping[str, Any]) -> PipPackage:
    name, version = canonicalize_name(entry["name"]), entry.get("version")
    if "archive" in entry:
        return _archive(name, version, entry["archive"])
    if "vcs" in entry or "directory" in entry:
        return _source(name, version, entry)
    wheels, sdist = entry.get("wheels", []), entry.get("sdist")
    artifacts = [*wheels, *([sdist] if sdist else [])]
    likely = artifacts[0] if artifacts else {}
    return PipPackage(
        name=name,
        version=version,
        requirement=f"{name}=={version}",
        hashes=tuple(_hashes(artifacts)),
        built=not wheels,
        size=likely.get("size"),
        url=_location(likely),
    )


def _archive(name: str, version: str | None, archive: Mapping[str, Any]) -> PipPackage:
    url = archive.get("url") or Path(archive["path"]).as_uri()
    return PipPackage(
        name=name,
        version=version,
        requirement=f"{name} @ {url}",
        hashes=tuple(_hashes([archive])),
        built=not urlsplit(url).path.endswith(".whl"),
        size=archive.get("size"),
        url=strip(url),
        direct=True,
    )


def _source(name: str, version: str | None, entry: Mapping[str, Any]) -> PipPackage:
    if "vcs" in entry:
        vcs = entry["vcs"]
        folder = f"#subdirectory={vcs['subdirectory']}" if vcs.get("subdirectory") else ""
        address = vcs.get("url") or Path(vcs["path"]).as_uri()
        line = f"{name} @ {vcs['type']}+{strip(address)}@{vcs['commit-id']}{folder}"
    else:
        directory = entry["directory"]
        path = Path(directory["path"])
        line = f"-e {path}" if directory.get("editable") else f"{name} @ {path.as_uri()}"
    return PipPackage(name=name, version=version, requirement=line, built=True, direct=True)


def _hashes(artifacts: list[Mapping[str, Any]]) -> Iterator[str]:
    for artifact in artifacts:
        for algorithm, digest in artifact.get("hashes", {}).items():
            yield f"{algorithm}:{digest}"


def _location(artifact: Mapping[str, Any]) -> str | None:
    if "url" in artifact:
        return strip(artifact["url"])
    return Path(artifact["path"]).as_uri() if "path" in artifact else None


def completed(package: PipPackage) -> PipPackage:
    """Return a package with the size and hash of its file filled in, where the lock leaves them out and it lies here.

    Only find-links folders give such files; uv before 0.12 writes no hash for them.
    """
    path = _local_path(package)
    if path is None or (package.hashes and package.size is not None):
        return package
    try:
        size = package.size or path.stat().st_size
        hashes = package.hashes or (f"sha256:{_sha256(path)}",)
    except OSError:
        return package
    return replace(package, size=size, hashes=hashes)


def _local_path(package: PipPackage) -> Path | None:
    if package.url is None or not package.url.startswith("file://"):
        return None
    return Path(unquote(urlsplit(package.url).path))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
