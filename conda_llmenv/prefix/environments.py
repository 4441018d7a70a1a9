"""``~/.conda/environments.txt``: the list by which conda knows environments outside its own folders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from conda_llmenv.errors import LlmenvError
from conda_llmenv.model import Notice
from conda_llmenv.plain_files import read_plain, write_file
from conda_llmenv.prefix.location import is_in_change
from conda_llmenv.prefix.lock import FolderLock
from conda_llmenv.unlisted import HISTORY

_LOCK_SECONDS = 10.0


def registry_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the list for the account's home folder."""
    return Path(environ.get("HOME") or Path.home()) / ".conda" / "environments.txt"


def register(prefix: Path, registry: Path) -> tuple[Notice, ...]:
    """Add an environment to the list; a home that cannot be written is a notice, not a failure."""
    entry = os.path.normpath(prefix)
    try:
        registry.parent.mkdir(parents=True, exist_ok=True)
        with _locked(registry):
            lines = _lines(registry)
            if entry not in lines:
                _write(registry, [*lines, entry])
    except (OSError, LlmenvError) as error:
        return (_notice(f"the environment works, but conda will not list it: {_reason(error, registry)}"),)
    return ()


def unregister(prefix: Path, registry: Path) -> tuple[Notice, ...]:
    """Take an environment off the list, and, as conda does then, every entry that is no environment any more."""
    entry = os.path.normpath(prefix)
    try:
        if entry in _lines(registry):
            with _locked(registry):
                _write(registry, [line for line in _lines(registry) if line != entry and _is_listed(line)])
    except (OSError, LlmenvError) as error:
        return (_notice(f"the environment is gone, but still on conda's list: {_reason(error, registry)}"),)
    return ()


def known(registry: Path, envs_dirs: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Return every environment that conda would list, sorted: the registered ones and those in ``envs_dirs``.

    Dead entries are dropped from the file as well, as conda does whenever it lists.
    """
    try:
        lines = _lines(registry)
    except OSError:
        lines = []  # nothing can be learnt from it; the folders are listed all the same
    alive = [line for line in lines if _is_listed(line) or is_in_change(Path(line))]
    if alive != lines:
        try:
            with _locked(registry):
                _write(registry, [line for line in _lines(registry) if line in alive])
        except (OSError, LlmenvError):
            pass  # a list that cannot be cleaned is still a list
    found = {Path(line) for line in alive if _is_listed(line)}
    for folder in envs_dirs:
        if folder.is_dir():
            found.update(entry for entry in folder.iterdir() if _is_listed(entry))
    return tuple(sorted(found))


def unfinished(folder: Path) -> tuple[Path, ...]:
    """Return the prefixes in a folder of environments that a change is, or was, under way for."""
    if not folder.is_dir():
        return ()
    return tuple(journal.with_name(journal.name[1 : -len(".llmenv")]) for journal in sorted(folder.glob(".*.llmenv")))


def _is_listed(place: str | Path) -> bool:
    try:
        return (Path(place) / HISTORY).is_file()
    except (OSError, ValueError):
        return False


def _lines(registry: Path) -> list[str]:
    """Return the entries.

    Raises:
        OSError: what is there cannot be read, or is a pipe, a device or a folder, which is not even waited for.
    """
    try:
        text = read_plain(registry).decode("utf-8", errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return []
    stripped = (line.strip() for line in text.split("\n"))
    return [line for line in stripped if line and not line.startswith("#")]


def _write(registry: Path, lines: list[str]) -> None:
    target = registry.resolve()  # a home kept in a repository links it; conda writes through the link
    write_file(target, "".join(f"{line}\n" for line in lines).encode("utf-8", errors="surrogateescape"))


def _locked(registry: Path) -> FolderLock:
    return FolderLock(registry.with_name(".environments.txt.llmenv.lock"), what=str(registry), timeout=_LOCK_SECONDS)


def _reason(error: OSError | LlmenvError, registry: Path) -> str:
    return error.message if isinstance(error, LlmenvError) else f"{registry}: {error.strerror or error}"


def _notice(message: str) -> Notice:
    return Notice("environments-txt", message)
