"""Finds what is on ``sys.path`` as it really is and belongs neither to the environment nor to its own Python."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from typing import Collection, Iterator, List, NamedTuple

from . import distributions, plain

CUSTOMIZING = ("sitecustomize.py", "usercustomize.py")
"""Modules that Python imports as it starts."""


class Entry(NamedTuple):
    """A folder from elsewhere, and whether it comes before the environment's modules and the standard library."""

    path: str
    before: bool
    before_library: bool


def entries(told: Collection[str], added: Collection[str]) -> Iterator[Entry]:
    """Yield the entries that are from elsewhere.

    Args:
        told: real paths that are told by themselves, wherever they stand.
        added: real paths that lines of ``.pth`` files add, which is told too unless they come first.
    """
    real = [os.path.realpath(entry) for entry in sys.path]
    sites, library = distributions.site_folders(), _library()
    first = min((place for place, path in enumerate(real) if path in sites), default=len(real))
    standard = min((place for place, path in enumerate(real) if path in library), default=len(real))
    brought = _texts(site.getusersitepackages())
    for place, path in enumerate(real):
        behind = place > first and (path in added or below(path, sys.base_prefix))
        own = path in library or path in told or below(path, sys.prefix)
        if not own and not behind and os.path.exists(path) and not any(sys.path[place] in text for text in brought):
            yield Entry(sys.path[place], place < first, place < standard)


def below(path: str, root: str) -> bool:
    """Return whether a real path lies in a folder, or is it."""
    top = os.path.realpath(root)
    return path == top or path.startswith(top.rstrip(os.sep) + os.sep)


def file_that_mentions(entry: str) -> str:
    """Return the ``.pth`` file, or the module that Python imports as it starts, in which a path stands."""
    starting = [path for folder in distributions.site_folders() for path in _starting(folder)]
    return next((path for path in starting if entry in plain.text(path)), "")


def _library() -> List[str]:
    """Return the real paths of the folders, and the archive, of the standard library."""
    paths = sysconfig.get_paths()
    folders = [os.path.realpath(paths[key]) for key in ("stdlib", "platstdlib")]
    compiled = [os.path.join(folder, "lib-dynload") for folder in folders]
    archives = ["{}/python{}{}.zip".format(os.path.dirname(folder), *sys.version_info[:2]) for folder in folders]
    return [*folders, *(os.path.realpath(folder) for folder in compiled), *archives]


def _texts(folder: str) -> List[str]:
    """Return the texts of what runs, or is read, in a folder of modules as Python starts."""
    return [plain.text(path) for path in _starting(folder)]


def _starting(folder: str) -> List[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".pth") or name in CUSTOMIZING]
