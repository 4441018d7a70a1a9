"""Lockfiles on disk: read with their edits noticed, and written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from conda_llmenv.errors import InputError, NoSpace, NotFoundError, PrefixError
from conda_llmenv.library import read_whole
from conda_llmenv.locks.header import DIGEST, FIRST_LINE, is_edited, is_ours
from conda_llmenv.locks.registry import FORMATS, Format, detect, format_of
from conda_llmenv.model import Lock

LARGEST = 64 * 2**20
"""Bytes of the largest lockfile that is read; one of a thousand packages on four platforms has three million."""


class LockFile(Struct, frozen=True):
    """A lockfile as it was read; whether it is one of ours, and one that somebody has changed."""

    path: Path
    format: Format
    lock: Lock
    ours: bool = False
    edited: bool = False


def read_lock_file(path: Path, *, name: str | None = None, edited: bool = False) -> LockFile:
    """Read a lockfile of any format.

    Args:
        path: of the file; also how messages show it.
        name: of the format; by default found out.
        edited: take one of ours although somebody has edited it, as to look at it is safe.

    Raises:
        NotFoundError: there is no such file.
        FileFormatError: it is not what it should be.
        InputError: it is no lockfile, or one of ours that has been edited since it was written.
    """
    text = _text(path)
    entry = format_of(name) if name else detect(str(path), text)
    changed = is_edited(text)
    if changed and not edited:
        raise InputError(
            f"{path} is not what llmenv wrote: a line of it was added, changed or removed",
            details=_suspects(entry, text, path),
            hint=f"lock again with `llmenv lock`; if the edit is meant, remove the line `# {DIGEST}: …` from its head",
        )
    return LockFile(path, entry, entry.read(text, str(path)), is_ours(text), changed)


def find_lock_files(folder: Path) -> tuple[Path, ...]:
    """Return the lockfiles in a folder that carry the names our own have, exact ones first."""
    entries = sorted((entry for entry in FORMATS.values() if entry.creates), key=lambda one: not one.exact)
    paths = (folder / entry.file_names[0] for entry in entries)
    return tuple(path for path in paths if path.is_file())


def unchecked_files(folder: Path) -> tuple[Path, ...]:
    """Return the lockfiles of ours in a folder that are about the pip section alone, which nothing here checks."""
    paths = (folder / entry.file_names[0] for entry in FORMATS.values() if not entry.creates)
    return tuple(path for path in paths if path.is_file() and is_ours(_start(path)))


def write_lock_file(path: Path, text: str) -> None:
    """Replace a file: what was there stays until the new one is whole.

    Raises:
        NoSpace, PrefixError: the disk refused; the file is named, and what was there is there still.
    """
    from conda_llmenv.plain_files import write_file
    from conda_llmenv.prefix.durable import disk_errors

    try:
        with disk_errors("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, text.encode())
    except (NoSpace, PrefixError) as error:
        error.hint = "free some room, or choose a place you may write to with -o"
        raise


def format_for(path: Path, name: str | None) -> Format:
    """Return the format that is asked for, or that the name of the file to write tells.

    Raises:
        InputError: neither says which.
    """
    if name is not None:
        return format_of(name)
    known = ((pattern, entry) for entry in FORMATS.values() for pattern in entry.file_names)
    found = next((entry for pattern, entry in known if path.match(pattern)), None)
    if found is None:
        raise InputError(
            f"which format {path.name} should have cannot be told from its name",
            hint=f"add --format, one of {', '.join(FORMATS)}",
        )
    return found


def _start(path: Path) -> str:
    """Return the start of a file, which may be anybody's and anything."""
    try:
        with path.open("rb") as file:
            return file.read(len(FIRST_LINE)).decode(errors="replace")
    except OSError:
        return ""


def _text(path: Path) -> str:
    try:
        return read_whole(path, LARGEST).decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise NotFoundError(f"{path} cannot be read: {reason}", hint="give the path of a lockfile") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text", hint="give the path of a lockfile") from error


def _suspects(entry: Format, text: str, path: Path) -> Iterable[str]:
    """Return what of an edited lock contradicts the rest, with its lines, as far as its reader can tell."""
    try:
        entry.read(text, str(path))
    except InputError as error:
        return (error.message, *error.details)
    return ()
