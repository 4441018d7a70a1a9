"""Turns a staged folder into one ``.conda`` file, byte for byte the same for the same input."""

from __future__ import annotations

import datetime as dt
import io
import json
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rattler.package_streaming import extract
from rattler_build import assemble_package, collect_files

PLACEHOLDER = "/opt/llmenv-prefix-placeholder".ljust(255, "_")
"""Stands for the prefix in staged files; as long as conda's, so that any real prefix fits into a binary."""

EPOCH = dt.datetime(2025, 1, 1, tzinfo=dt.timezone.utc)
"""Build time of every package that does not say otherwise."""


@dataclass(frozen=True)
class Package:
    """What a package says about itself; its files are staged beside it.

    ``index`` holds further keys of ``info/index.json`` (``track_features``, ``python_site_packages_path``), and
    ``entry_points`` are console scripts of a noarch Python package.
    """

    name: str
    version: str
    build: str = "0"
    build_number: int = 0
    subdir: str = "linux-64"
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()
    noarch: str | None = None
    timestamp: dt.datetime = EPOCH
    entry_points: tuple[str, ...] = ()
    index: dict[str, Any] = field(default_factory=dict)


def write_package(package: Package, staged: Path, channel: Path) -> Path:
    """Write the package into its subdir of the channel and return the file.

    ``assemble_package`` compresses the files; it cannot express everything ``info/`` may hold, so that part is written
    anew where the package needs more.
    """
    made = assemble_package(
        package.name,
        package.version,
        package.subdir,
        package.build,
        channel / package.subdir,
        files=collect_files(staged, include_hidden=True),
        depends=package.depends,
        constrains=package.constrains,
        build_number=package.build_number,
        noarch="python" if package.noarch == "python" else "generic" if package.noarch else None,
        license="LicenseRef-Test",
        compression_level=1,
        compression_threads=1,
        timestamp=package.timestamp,
        detect_prefix=False,
    ).path
    placeheld = dict(_placeheld(staged))
    if placeheld or package.index or package.entry_points:
        _rewrite_info(made, package, placeheld)
    return made


def _placeheld(staged: Path) -> Iterator[tuple[str, str]]:
    """Yield each file that holds the placeholder with how it is to be replaced: as text, or padded in a binary."""
    for path in sorted(staged.rglob("*")):
        if path.is_file() and not path.is_symlink() and PLACEHOLDER.encode() in (content := path.read_bytes()):
            yield path.relative_to(staged).as_posix(), "binary" if b"\0" in content else "text"


def _rewrite_info(made: Path, package: Package, placeheld: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        extract(made, Path(folder))
        info = {path.name: path.read_bytes() for path in Path(folder, "info").iterdir() if path.is_file()}
    index = json.loads(info["index.json"]) | package.index
    paths = json.loads(info["paths.json"])
    for entry in paths["paths"]:
        if mode := placeheld.get(entry["_path"]):
            entry |= {"file_mode": mode, "prefix_placeholder": PLACEHOLDER}
    info |= {"index.json": _json(index), "paths.json": _json(paths)}
    if package.entry_points:
        noarch = {"type": "python", "entry_points": list(package.entry_points)}
        info["link.json"] = _json({"package_metadata_version": 1, "noarch": noarch})
    _replace_info(made, info)


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode()


def _replace_info(made: Path, info: dict[str, bytes]) -> None:
    """Write the archive again with another info part; the payload's bytes stay as they are."""
    with zipfile.ZipFile(made) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.startswith("info-"))
    members[name] = zstd_frame(_tar({f"info/{file}": content for file, content in sorted(info.items())}))
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member), content)


def _tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def zstd_frame(content: bytes) -> bytes:
    """Wrap bytes in a Zstandard frame without compressing them (RFC 8878, raw blocks of at most 128 KiB)."""
    blocks = [content[start : start + 131_072] for start in range(0, len(content), 131_072)] or [b""]
    frame = struct.pack("<IBQ", 0xFD2FB528, 0xE0, len(content))
    for number, block in enumerate(blocks, start=1):
        header = (number == len(blocks)) | len(block) << 3
        frame += header.to_bytes(3, "little") + block
    return frame
