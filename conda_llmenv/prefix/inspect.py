"""What is inside an environment, read from ``conda-meta`` without loading a solver."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from conda_llmenv.errors import PrefixError

_BLOCK = 512

PIP_INSTALLERS = frozenset({"pip", "uv", "poetry", "pdm"})


class InstalledRecord(Struct, frozen=True):
    """One installed conda package; ``url`` and ``channel`` may carry credentials somebody else wrote there."""

    name: str
    version: str
    build: str
    subdir: str = ""
    channel: str = ""
    url: str = ""
    requested: str = ""


class Distribution(Struct, frozen=True):
    """One Python distribution that pip, or a tool like it, installed.

    Attributes:
        name, version: as its metadata has them.
        source: where it came from if not from an index, as PEP 610 records it (``git+https://host/repo@commit``); may
            carry credentials.
    """

    name: str
    version: str
    source: str = ""


class Interpreter(Struct, frozen=True):
    """The environment's Python: full version and absolute path."""

    version: str
    path: Path


def installed(prefix: Path) -> tuple[InstalledRecord, ...]:
    """Return the conda packages of an environment, sorted by name.

    Raises:
        PrefixError: a record is broken; the message names the file.
    """
    try:
        files = [entry.path for entry in os.scandir(prefix / "conda-meta") if entry.name.endswith(".json")]
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise PrefixError(f"cannot read {prefix / 'conda-meta'}: {error.strerror}") from error
    return tuple(sorted((_record(Path(path)) for path in files), key=lambda record: record.name))


def distributions(prefix: Path) -> tuple[Distribution, ...]:
    """Return what an installer other than conda put into the environment's ``site-packages``, sorted by name."""
    places = [str(path) for path in sorted(prefix.glob("lib/python3*/site-packages"))]
    found = {}
    for one in importlib.metadata.distributions(path=places):
        if (one.read_text("INSTALLER") or "").strip() in PIP_INSTALLERS:
            source = _source(one.read_text("direct_url.json"))
            found[one.metadata["Name"]] = Distribution(one.metadata["Name"], one.version, source)
    return tuple(found[name] for name in sorted(found))


def _source(text: str | None) -> str:
    """Return the address in a ``direct_url.json``, with the commit that was installed where it is a repository."""
    try:
        data = json.loads(text or "{}")
        version_control = data.get("vcs_info", {})
        if version_control:
            return f"{version_control['vcs']}+{data['url']}@{version_control['commit_id']}"
        return str(data.get("url", ""))
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""  # not what PEP 610 says: the name and version are all that is known


def interpreter(prefix: Path, records: tuple[InstalledRecord, ...]) -> Interpreter | None:
    """Return the environment's Python, or None if it has none."""
    record = next((record for record in records if record.name == "python"), None)
    path = prefix / "bin" / "python"
    return Interpreter(record.version, path) if record is not None and path.exists() else None


def size(prefix: Path) -> int:
    """Return the bytes on disk; a file with several links inside counts once, and links are not followed."""
    seen: set[tuple[int, int]] = set()
    total = 0
    folders = [os.fspath(prefix)]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            facts = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            if facts.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                if (facts.st_dev, facts.st_ino) in seen:
                    continue
                seen.add((facts.st_dev, facts.st_ino))
            total += facts.st_blocks * _BLOCK
    return total


def _record(path: Path) -> InstalledRecord:
    try:
        data = json.loads(path.read_bytes())
        return InstalledRecord(
            name=_text(data, "name"),
            version=_text(data, "version"),
            build=_text(data, "build"),
            subdir=_optional(data, "subdir"),
            channel=_optional(data, "channel"),
            url=_optional(data, "url"),
            requested=_requested(data),
        )
    except OSError as error:
        raise PrefixError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError, TypeError, AttributeError) as error:
        raise PrefixError(
            f"{path} is broken: {error}", hint="the environment cannot be trusted; make it again with `llmenv create`"
        ) from error


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"it has no {key}")
    return value


def _optional(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _requested(data: dict[str, Any]) -> str:
    several = data.get("requested_specs")
    if isinstance(several, list) and several:
        return ", ".join(str(spec) for spec in several)
    return _optional(data, "requested_spec")
