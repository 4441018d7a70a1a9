"""Says which Python this is and which modules the packages that were asked for bring."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any

from .telling import Teller

MODULE = re.compile(r"(?:lib/python[\d.]+[t]?/site-packages/)?([A-Za-z]\w*)(?:/__init__\.py|\.py|(?:\.[\w-]+)?\.so)")
"""A file that makes a top-level module: a package's ``__init__.py``, a plain module or a compiled one."""


def run(asked: Mapping[str, Any], teller: Teller) -> None:
    """Tell about the interpreter, then about the modules of ``asked["packages"]``."""
    with teller.looking("python") as values:
        values["version"] = platform.python_version()
        values["implementation"] = platform.python_implementation()
        values["prefix"] = sys.prefix
        values["own"] = os.path.realpath(sys.prefix) == os.path.realpath(asked["prefix"])
        values["executable"] = os.path.realpath(sys.executable)
    with teller.looking("modules") as values:
        values["modules"] = {name: found for name in asked["packages"] if (found := modules(name))}


def modules(name: str) -> list[str]:
    """Return the top-level module of a distribution or conda package that has its name, else all that are public.

    What else a package brings may be a script that does its work on import, as sympy's ``isympy`` does.
    """
    found = {match[1] for path in files(name) if (match := MODULE.fullmatch(path))}
    public = sorted(module for module in found if module not in ("test", "tests", "setup", "conftest"))
    own = name.lower().replace("-", "_")
    return [module for module in public if module.lower() == own] or public


def files(name: str) -> list[str]:
    """Return the files a package brought, by the records of pip, else of conda."""
    try:
        listed = importlib.metadata.distribution(name).files
    except (importlib.metadata.PackageNotFoundError, ValueError):
        listed = None
    return [path.as_posix() for path in listed] if listed else conda_files(name)


def conda_files(name: str) -> list[str]:
    """Return the files of a conda package; an empty list where its record cannot be read."""
    folder = os.path.join(sys.prefix, "conda-meta")
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if entry.endswith(".json") and entry.rsplit("-", 2)[0] == name:
            try:
                with open(os.path.join(folder, entry), encoding="utf-8") as stream:
                    return list(json.load(stream).get("files", ()))
            except (OSError, ValueError, AttributeError):
                return []
    return []
