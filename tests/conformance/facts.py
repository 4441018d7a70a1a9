"""What an engine leaves on the disk, in terms in which two prefixes can be compared."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORD_FIELDS = (
    "name", "version", "build", "build_number", "subdir", "fn", "url", "sha256", "md5", "size", "timestamp", "depends",
    "noarch", "license", "channel", "requested_specs", "files", "paths_data", "link",
)  # fmt: skip
"""The fields of a record that others read."""


@dataclass(frozen=True)
class Facts:
    """One prefix.

    Attributes:
        records: file name in ``conda-meta`` → its content.
        tree: path → permission bits and, for a link, its target, for a file outside ``conda-meta``, its SHA-256.
        history: the lines of ``conda-meta/history``, without times and the engine's name.
        variables: what activation sets, as conda reads it.
        listed: what ``conda list --json`` says, None without a conda.
    """

    records: Mapping[str, Mapping[str, Any]]
    tree: Mapping[str, str]
    history: tuple[str, ...]
    variables: Mapping[str, str]
    listed: Any


def facts_of(prefix: Path, engine: str, listed: Any) -> Facts:
    """Read a prefix."""
    meta = prefix / "conda-meta"
    history = (meta / "history").read_text(encoding="utf-8").replace(f"--engine {engine}", "--engine")
    return Facts(
        records={path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(meta.glob("*.json"))},
        tree=dict(_tree(prefix)),
        history=tuple(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", history).splitlines()),
        variables=json.loads((meta / "state").read_text(encoding="utf-8"))["env_vars"],
        listed=listed,
    )


def _tree(prefix: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(prefix.rglob("*")):
        name, status = path.relative_to(prefix).as_posix(), path.lstat()
        mode = oct(stat.S_IMODE(status.st_mode))
        if path.is_symlink():
            yield name, f"-> {path.readlink()}"
        elif path.is_dir() or name.startswith("conda-meta/") or name.endswith(".pyc"):
            yield name, mode
        else:
            yield name, f"{mode} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def read_alike(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as every reader takes it, whichever of two spellings it was written in."""
    library = next((name for name in record["files"] if "/site-packages/" in name), "").partition("site-packages/")[0]
    fields: dict[str, Any] = {name: record.get(name) for name in RECORD_FIELDS}
    fields["channel"] = record["channel"].rstrip("/").removesuffix(f"/{record['subdir']}")
    fields["requested_specs"] = record.get("requested_specs") or []
    fields["files"] = sorted(name for name in record["files"] if not name.endswith(".pyc"))
    fields["link"] = record["link"]["type"]
    fields["paths_data"] = dict(
        sorted(_path(entry, library) for entry in record["paths_data"]["paths"] if not entry["_path"].endswith(".pyc"))
    )
    return fields


def _path(entry: Mapping[str, Any], library: str) -> tuple[str, dict[str, Any]]:
    name = entry["_path"]
    if name.startswith("site-packages/"):
        name = library + name
    found = {field: entry.get(field) for field in ("path_type", "file_mode", "prefix_placeholder")}
    if entry["path_type"] != "unix_python_entry_point":  # those are written by the engine itself
        found["sha256"] = entry.get("sha256")
        found["sha256_in_prefix"] = entry.get("sha256_in_prefix", entry.get("sha256"))
        found["size_in_bytes"] = None if entry.get("file_mode") == "text" else entry.get("size_in_bytes")
    return name, found


def differences(ours: Facts, theirs: Facts) -> dict[str, str]:
    """Return what differs as it stands on the disk: kind of place → the first such place and both values."""
    found: dict[str, str] = {}
    for place, one, other in _differing(ours, theirs):
        found.setdefault(place, f"{one!r} here, {other!r} there")
    return found


def _differing(ours: Facts, theirs: Facts) -> Iterator[tuple[str, Any, Any]]:
    for name, one, other in _unequal(ours.tree, theirs.tree):
        yield re.sub(r".*\.pyc$", "*.pyc", re.sub(r".*/__pycache__$", "__pycache__", name)), one, other
    for file_name, record in ours.records.items():
        one, other = dict(record), dict(theirs.records.get(file_name, {}))
        paths = [{entry["_path"]: entry for entry in each.pop("paths_data")["paths"]} for each in (one, other)]
        for each in (one, other):
            each["files"] = sorted(each["files"])
        for field, mine, other_value in _unequal(one, other):
            yield f"record: {field}", mine, other_value
        for path, mine, other_value in _unequal(*paths):
            if mine is None or other_value is None:
                yield "record: paths_data", mine, other_value
            else:
                for field, left, right in _unequal(mine, other_value):
                    yield f"record: paths_data: {field}", f"{path} {left}", f"{path} {right}"


def _unequal(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for key in sorted({*one, *other}):
        if one.get(key) != other.get(key):
            yield key, one.get(key), other.get(key)
