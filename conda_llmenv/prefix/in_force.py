"""What is in force once an environment is activated: which Python is found, and what reroutes Python or the loader."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REROUTING = ("PYTHONHOME", "PYTHONPATH", "LD_PRELOAD", "LD_LIBRARY_PATH")
"""Variables by which something else than the environment's own files is loaded."""


def in_force(prefix: Path, before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, Any]:
    """Return what decides whether an activated environment is the one that runs.

    Args:
        prefix: the environment.
        before: variables of the calling shell.
        after: variables once it is activated.
    """
    own = prefix / "bin" / "python"
    python = shutil.which("python", path=after.get("PATH", "")) or ""
    conda, active = (prefix / "conda-meta").is_dir(), after.get("CONDA_PREFIX", "")
    changed = {name: after[name] for name in REROUTING if name in after and after[name] != before.get(name)}
    return {
        "has_python": os.access(own, os.X_OK),
        "python": python,
        "python_is_own": bool(python) and _same(Path(python).parent, own.parent),
        "conda_prefix": active,
        "conda_prefix_is_own": not conda or (bool(active) and _same(Path(active), prefix)),
        "changed": changed,
        "missing_preloads": _missing(changed.get("LD_PRELOAD", "")),
        "library_folders_outside": _outside(prefix, before, changed.get("LD_LIBRARY_PATH", "")),
    }


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _missing(preloaded: str) -> list[str]:
    """Return the libraries named by a path at which there is nothing; the loader looks for mere names itself."""
    entries = [entry for entry in re.split("[: ]", preloaded) if "/" in entry and "$" not in entry]
    return [entry for entry in entries if not Path(entry).exists()]


def _outside(prefix: Path, before: Mapping[str, str], folders: str) -> list[str]:
    """Return the folders that activation adds and that are no part of the environment."""
    known = before.get("LD_LIBRARY_PATH", "").split(":")
    added = [entry for entry in folders.split(":") if entry and entry not in known]
    root = Path(os.path.realpath(prefix))
    return [entry for entry in added if not Path(os.path.realpath(entry)).is_relative_to(root)]
