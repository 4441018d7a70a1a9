"""Every file and link of an environment with its size and mode, as fast as the system lists them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from conda_llmenv.prefix.durable import disk_errors
from conda_llmenv.prefix.integrity.exclusions import is_passed_over
from conda_llmenv.prefix.integrity.model import Entry, Kind

_KINDS = {stat.S_IFREG: Kind.FILE, stat.S_IFLNK: Kind.LINK}


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
        with disk_errors("list", Path(root, folder)), os.scandir(f"{root}/{folder}") as listing:
            for item in listing:
                is_folder = item.is_dir(follow_symlinks=False)
                if is_passed_over(item.name, top=not folder, folder=is_folder, base=base):
                    continue
                if is_folder:
                    folders.append(f"{folder}{item.name}/")
                else:
                    facts = item.stat(follow_symlinks=False)
                    kind = _KINDS.get(stat.S_IFMT(facts.st_mode), Kind.OTHER)
                    yield Entry(f"{folder}{item.name}", kind, facts.st_size, stat.S_IMODE(facts.st_mode))
