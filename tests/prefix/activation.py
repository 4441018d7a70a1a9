"""Environments with variables and activation scripts, for the tests of what activation comes to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from conda_llmenv import process
from conda_llmenv.prefix.activated import Activated, activated_environ

HOSTILE = "a b 'c' \"d\" $HOME `id` \\ ! *\nnächste 行\té"
"""A value with everything a shell might change."""


def environment(
    prefix: Path,
    *,
    state: Mapping[str, object] | None = None,
    packages: Mapping[str, Mapping[str, object]] | None = None,
    scripts: Mapping[str, str] | None = None,
    leaving: Mapping[str, str] | None = None,
) -> Path:
    """Make a prefix as conda leaves it; ``scripts`` go to activate.d, ``leaving`` to deactivate.d."""
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta" / "history").touch()
    (prefix / "bin").mkdir()
    if state is not None:
        (prefix / "conda-meta" / "state").write_text(json.dumps({"version": 1, "env_vars": state}))
    for name, values in (packages or {}).items():
        write(prefix / "etc" / "conda" / "env_vars.d" / name, json.dumps(values))
    for folder, files in (("activate.d", scripts), ("deactivate.d", leaving)):
        for name, text in (files or {}).items():
            write(prefix / "etc" / "conda" / folder / name, text)
    return prefix


def write(path: Path, text: str) -> None:
    """Write a file and the folders it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def shell_variables(**more: str) -> dict[str, str]:
    """Return the variables of a plain shell, with those given."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": os.environ["HOME"], "LANG": "C.UTF-8", **more}


def activated(prefix: Path, *, limit: float = 30, **variables: str) -> Activated:
    """Activate for real, in a plain shell with these variables."""
    return activated_environ(prefix, shell_variables(**variables), process.run, limit=limit)
