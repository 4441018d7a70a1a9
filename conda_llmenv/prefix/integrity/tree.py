"""Every file and link of an environment with its size and mode, as fast as the system lists them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from conda_llmenv.errors import PrefixError
from conda_llmenv.prefix.integrity.exclusions import COMPILED_SUFFIX, is_derived, is_passed_over
from conda_llmenv.prefix.integrity.model import Entry, Kind

_BITS = 0o7777
_KINDS = {stat.S_IFREG: Kind.FILE, stat.S_IFLNK: Kind.LINK}


def _listing(folder: str) -> os._ScandirIterator[str]:
    try:
        return os.scandir(folder)
    except OSError as error:
        raise PrefixError(
            f"cannot list {folder}: {error.strerror}", hint="see that it can be read, or ask who owns the environment"
        ) from error


def entries(prefix: Path, *, base: bool) -> Iterator[Entry]:
    """Yield what is in a prefix, without what :mod:`exclusions` passes over; links are not followed.

    Args:
        prefix: the environment.
        base: conda itself is in it, so ``envs`` and ``pkgs`` are not part of it.

    Raises:
        PrefixError: a folder cannot be listed.
    """
    root = os.fspath(prefix)
    folders = [""]
    while folders:
        folder = folders.pop()
        derived = is_derived(folder)
        with _listing(f"{root}/{folder}") as listing:
            for item in listing:
                name, is_folder = item.name, item.is_dir(follow_symlinks=False)
                if not (folder and name[0].isalnum()) and is_passed_over(
                    name, top=not folder, folder=is_folder, base=base
                ):
                    continue  # nothing below the top that begins with a letter is: asked of each of many thousands
                if derived and not is_folder and not name.endswith(COMPILED_SUFFIX):
                    continue
                if is_folder:
                    folders.append(f"{folder}{name}/")
                else:
                    facts = item.stat(follow_symlinks=False)
                    kind = _KINDS.get(stat.S_IFMT(facts.st_mode), Kind.OTHER)
                    yield Entry(f"{folder}{name}", kind, facts.st_size, facts.st_mode & _BITS)
