"""What is inside an environment, read from ``conda-meta`` without loading a solver."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard

from msgspec import Struct

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import Notice
from conda_llmenv.plain_files import LARGEST, read_plain
from conda_llmenv.prefix.conda_meta import check_identity, clean_address

_BLOCK = 512

PIP_INSTALLERS = frozenset({"pip", "uv", "poetry", "pdm"})

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")
"""PEP 508's rule for the name of a distribution."""

_READ = ("INSTALLER", "METADATA", "PKG-INFO", "direct_url.json")
"""Files of a distribution that are read."""

_VERSION_CONTROL = re.compile(r"git|hg|svn|bzr")
_COMMIT = re.compile(r"[A-Za-z0-9._-]{1,100}")


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
    """Return what an installer other than conda put into the environment's ``site-packages``, sorted by name.

    What has no usable metadata is left out; :func:`distribution_notices` tells of it.
    """
    found = {one.name: one for one in _read_all(prefix) if isinstance(one, Distribution)}
    return tuple(found[name] for name in sorted(found))


def distribution_notices(prefix: Path) -> tuple[Notice, ...]:
    """Return a warning for each distribution that is left out, or whose origin is, as what it says cannot be used."""
    return tuple(one for one in _read_all(prefix) if isinstance(one, Notice))


def _read_all(prefix: Path) -> Iterator[Distribution | Notice]:
    places = [str(path) for path in sorted(prefix.glob("lib/python3*/site-packages"))]
    for one in importlib.metadata.distributions(path=places):
        folder = str(getattr(one, "_path", "a distribution"))
        try:
            _check_plain(Path(folder))
            if (one.read_text("INSTALLER") or "").strip() not in PIP_INSTALLERS:
                continue
            name, version = _identity(one)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ImportError) as error:
            yield _left_out(folder, error)
            continue
        source, problem = _source_of(one)
        yield Distribution(name, version, source)
        if problem:
            yield Notice("distribution-origin", f"where {name} came from is not known: direct_url.json {problem}")


def _check_plain(folder: Path) -> None:
    """Refuse a distribution whose metadata would be waited for, or never end.

    Raises:
        ValueError: it has such a file; the text is the reason.
    """
    for path in (folder, *(folder / name for name in _READ)):
        with suppress(FileNotFoundError, NotADirectoryError):
            facts = path.stat()
            if not stat.S_ISREG(facts.st_mode) and (path != folder or not stat.S_ISDIR(facts.st_mode)):
                raise ValueError(f"its {path.name} is no plain file")
            if facts.st_size > LARGEST:
                raise ValueError(f"its {path.name} is larger than {LARGEST} bytes")


def _identity(one: importlib.metadata.Distribution) -> tuple[str, str]:
    """Return name and version as the metadata has them.

    Raises:
        ValueError: one is missing, or is none; the text is the reason.
    """
    name: object = one.metadata["Name"]
    version: object = one.metadata["Version"]
    if not is_distribution_name(name):
        raise ValueError(f"its metadata has no usable name ({ascii(name)[:80]})")
    if not is_version(version):
        raise ValueError(f"its metadata has no usable version ({ascii(version)[:80]})")
    return name, version.strip()


def is_distribution_name(text: object) -> TypeGuard[str]:
    """Return whether a text is a name by PEP 508's rule and nothing else."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def is_version(text: object) -> TypeGuard[str]:
    """Return whether a text is a version by PEP 440; packaging alone takes some letters beyond ASCII."""
    from packaging.version import InvalidVersion, Version

    if not isinstance(text, str) or not text.isascii() or not text.strip().isprintable():
        return False
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _left_out(folder: str, error: Exception) -> Notice:
    reason = "its metadata is not UTF-8 text" if isinstance(error, UnicodeError) else str(error)
    if not isinstance(error, ValueError):
        reason = "its metadata cannot be read"
    return Notice(
        "distribution-left-out",
        f"{ascii(folder)[1:-1]} is left out: {reason}",
        hint="install that distribution again",
    )


def _source_of(one: importlib.metadata.Distribution) -> tuple[str, str]:
    """Return the address in ``direct_url.json``, with the commit of a repository, and why there is none, if odd."""
    try:
        text = one.read_text("direct_url.json")
    except (OSError, ValueError):
        return "", "is not UTF-8 text"
    source = _source(text)
    return source, "holds no usable address" if text and not source else ""


def _source(text: str | None) -> str:
    """Return the address in a ``direct_url.json``, with the commit that was installed where it is a repository."""
    try:
        data = json.loads(text or "{}")
        url = clean_address(data.get("url", ""))
        version_control = data.get("vcs_info", {})
        if not version_control:
            return url
        kind, commit = version_control["vcs"], version_control["commit_id"]
        usable = url and _VERSION_CONTROL.fullmatch(kind) and _COMMIT.fullmatch(commit)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""  # not what PEP 610 says: the name and version are all that is known
    return f"{kind}+{url}@{commit}" if usable else ""


def has_python(prefix: Path) -> bool:
    """Return whether there is a Python in an environment, or should be: a broken link or a record counts."""
    return os.path.lexists(prefix / "bin" / "python") or any((prefix / "conda-meta").glob("python-[0-9]*.json"))


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
        data = json.loads(read_plain(path))
        record = InstalledRecord(
            name=_text(data, "name"),
            version=_text(data, "version"),
            build=_text(data, "build"),
            subdir=_optional(data, "subdir"),
            channel=_printable(_optional(data, "channel")),
            url=clean_address(_optional(data, "url")),
            requested=_printable(_requested(data)),
        )
        check_identity(record)
    except OSError as error:
        raise PrefixError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError, TypeError, AttributeError) as error:
        raise PrefixError(
            f"{path} is broken: {error}", hint="the environment cannot be trusted; make it again with `llmenv create`"
        ) from error
    return record


def _printable(text: str) -> str:
    return text if text.isprintable() else ""


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
