"""A hash that changes when anything does that decides whether an environment works; no file of a package is read.

It covers the records of conda and pip, the variables and scripts of activation, ``bin``, everything Python imports and
the shared libraries, each by its path, size and time of last change. It is about this installation: two of the same
lock differ, and so does one that was moved, since what an environment runs has its place written into it. What two
installations have in common is the digest, :mod:`conda_llmenv.prefix.integrity.digest`.

Not seen are a change that leaves size and time as they were (the time of the inode would show it, but making or
removing another environment that shares files by hard links changes that too), data in ``share``, and the folder that
an editable project was installed from.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from conda_llmenv.errors import PrefixError
from conda_llmenv.plain_files import read_plain
from conda_llmenv.prefix.integrity.exclusions import BOOKKEEPING, DERIVED_FOLDER, is_passed_over
from conda_llmenv.prefix.variables import STATE

SCHEME = "llmenv fingerprint 1"
"""Counts too, so that two schemes never give the same fingerprint."""

Counts = Callable[[str], bool]

_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_ACTIVATION = ("etc/conda/activate.d", "etc/conda/deactivate.d")


def fingerprint(prefix: Path) -> str:
    """Return the fingerprint of an environment as 64 hex digits.

    Args:
        prefix: the environment; its path counts as it is given.

    Raises:
        PrefixError: there is none, or a part of it cannot be read.
    """
    root = os.fspath(prefix)
    state = hashlib.sha256()
    for part in (SCHEME, root, *sorted(_lines(root))):
        line = os.fsencode(part)
        state.update(len(line).to_bytes(8, "big"))
        state.update(line)
    return state.hexdigest()


def _lines(root: str) -> Iterator[str]:
    if not os.path.isdir(root):  # noqa: PTH112 - a string by then, and there are thousands
        raise PrefixError(f"there is no environment at {root}", hint="llmenv list shows the environments known here")
    yield from _flat(root, BOOKKEEPING, lambda name: name.endswith(".json"))
    yield f"{STATE}\0{_content(Path(root, STATE))}"
    yield from _flat(root, "", lambda name: name == "pyvenv.cfg")
    yield from _flat(root, "bin", _anything)
    yield from _flat(root, "lib", _is_library)
    for folder in _ACTIVATION:
        yield from _flat(root, folder, _anything)
    for target in _folders(root, "targets", _anything):
        yield from _flat(root, f"{target}/lib", _is_library)
    for python in _folders(root, "lib", lambda name: name.startswith("python")):
        yield from _tree(root, python)


def _anything(_name: str) -> bool:
    return True


def _is_library(name: str) -> bool:
    return name.endswith(".so") or ".so." in name


def _flat(root: str, folder: str, counts: Counts) -> Iterator[str]:
    """Yield what is directly in a folder; with a link, what it leads to counts too."""
    for entry in _listing(root, folder, missing=True):
        if counts(entry.name) and not _is_noise(entry.name):
            yield from _facts(entry, folder)


def _tree(root: str, top: str) -> Iterator[str]:
    folders = [top]
    while folders:
        folder = folders.pop()
        for entry in _listing(root, folder):
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name != DERIVED_FOLDER:
                    folders.append(f"{folder}/{name}")
            elif not _is_noise(name):
                yield from _facts(entry, folder)


def _folders(root: str, folder: str, counts: Counts) -> Iterable[str]:
    listing = _listing(root, folder, missing=True)
    return [f"{folder}/{entry.name}" for entry in listing if counts(entry.name) and entry.is_dir(follow_symlinks=False)]


def _is_noise(name: str) -> bool:
    """Return whether a file is what running leaves behind: a log, or the rest of a file removed on NFS."""
    return name.endswith(".log") or is_passed_over(name, top=False, folder=False, base=False)


def _listing(root: str, folder: str, *, missing: bool = False) -> list[os.DirEntry[str]]:
    place = f"{root}/{folder}" if folder else root
    try:
        with os.scandir(place) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError) as error:
        if missing:
            return []
        raise _unreadable(place, error) from error
    except OSError as error:
        raise _unreadable(place, error) from error


def _facts(entry: os.DirEntry[str], folder: str) -> Iterator[str]:
    try:
        facts = entry.stat(follow_symlinks=False)
        if not stat.S_ISLNK(facts.st_mode):
            yield f"{folder}/{entry.name}\0{facts.st_mode:o} {facts.st_size} {facts.st_mtime_ns}"
            return
        yield f"{folder}/{entry.name}\0link {os.readlink(entry.path)} {_target(entry.path)}"  # noqa: PTH115 - a string, for speed
    except OSError as error:
        raise _unreadable(entry.path, error) from error


def _target(path: str) -> str:
    """Return the facts of the file a link leads to; a link may lead nowhere, or to a folder that counts by itself."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - a string, for speed
    except OSError as error:
        if error.errno in _NOWHERE:
            return "nothing"
        raise
    return f"{facts.st_size} {facts.st_mtime_ns}" if stat.S_ISREG(facts.st_mode) else "no file"


def _content(path: Path) -> str:
    """Return the checksum of a small file: conda writes the variables anew when nothing of them has changed."""
    try:
        return hashlib.sha256(read_plain(path)).hexdigest()
    except FileNotFoundError:
        return "nothing"
    except OSError as error:
        raise _unreadable(str(path), error) from error


def _unreadable(place: str, error: OSError) -> PrefixError:
    return PrefixError(
        f"cannot read {place}: {error.strerror}",
        hint="see that all of the environment can be read and that nobody is changing it now",
    )
