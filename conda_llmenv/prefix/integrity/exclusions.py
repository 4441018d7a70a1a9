"""What running and installing leave behind, which is part of no package and no finding either, each with its reason."""

from __future__ import annotations

import re

DERIVED_FOLDER = "__pycache__"
"""Compiled from the sources beside it when they are first imported: by whom, when and for which Python is chance.
What belongs to such a source does not count; what is not compiled Python, such as numba's cache, is not looked at."""

COMPILED_SUFFIX = ".pyc"

BOOKKEEPING = "conda-meta"
"""conda's and our own notes, with times and places. Packages and variables are read from there and count as such."""

CACHE_TAG = "CACHEDIR.TAG"
"""At the top: rattler's word to backup programs that everything here can be made again."""

INNER_FOLDERS = ("envs", "pkgs")
"""Of the environment that conda itself is in: other environments, and the package cache."""

_LEFT_ON_NFS = re.compile(r"\.nfs[0-9a-fA-F]{8,}")
"""What NFS keeps of a removed file until the last process lets go of it."""

INSTALLATION_NOTES = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json")
"""In the ``.dist-info`` of what pip or uv installed. They say who installed it, when, from which copy and why, and
RECORD repeats the hashes of files that count themselves, some of which hold the prefix."""

_NOTE = re.compile(r"(?:.*/)?site-packages/[^/]+\.dist-info/(?:" + "|".join(map(re.escape, INSTALLATION_NOTES)) + ")")


def is_passed_over(name: str, *, top: bool, folder: bool, base: bool) -> bool:
    """Return whether something is not looked at.

    Args:
        name: its last component.
        top: it lies directly in the prefix.
        folder: it is a folder.
        base: the environment is the one that conda is in.
    """
    if folder:
        return top and (name == BOOKKEEPING or (base and name in INNER_FOLDERS))
    return (top and name == CACHE_TAG) or (name.startswith(".nfs") and _LEFT_ON_NFS.fullmatch(name) is not None)


def is_derived(path: str) -> bool:
    """Return whether a recorded path is something that Python would make again."""
    return f"/{DERIVED_FOLDER}/" in f"/{path}"


def is_installation_note(path: str) -> bool:
    """Return whether a file says how a distribution came here; only meant for files that no conda package has."""
    return ".dist-info/" in path and _NOTE.fullmatch(path) is not None
