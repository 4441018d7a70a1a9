"""Says which Python this is, whether its library is whole, and which modules the packages asked for bring."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any

from . import plain
from .telling import Teller

MODULE = re.compile(r"(?:lib/python[\d.]+[t]?/site-packages/)?([A-Za-z]\w*)(?:/__init__\.py|\.py|(?:\.[\w-]+)?\.so)")
"""A file that makes a top-level module: a package's ``__init__.py``, a plain module or a compiled one."""

LIBRARY = (
    "zlib",
    "hashlib",
    "ctypes",
    "socket",
    "select",
    "ssl",
    "subprocess",
    "threading",
    "queue",
    "multiprocessing",
    "multiprocessing.synchronize",
    "decimal",
    "struct",
    "random",
    "pickle",
    "tempfile",
    "uuid",
    "datetime",
    "logging",
    "zipfile",
)
"""Modules of the standard library that training cannot do without, and that are imported in an instant."""

OPTIONAL = {"sqlite3": "_sqlite3", "lzma": "_lzma", "bz2": "_bz2", "readline": "readline"}
"""Modules that a Python may have been built without, and the compiled part that is then missing."""

START_SECONDS = 20.0
"""What one empty start of Python may take."""

SHOWN_LINES, SHOWN_CHARACTERS = 20, 300


def run(asked: Mapping[str, Any], teller: Teller) -> None:
    """Tell about the interpreter and the modules of ``asked["packages"]``, then what else is asked for."""
    with teller.looking("python") as values:
        values["version"] = platform.python_version()
        values["implementation"] = platform.python_implementation()
        values["prefix"] = sys.prefix
        values["own"] = os.path.realpath(sys.prefix) == os.path.realpath(asked["prefix"])
        values["executable"] = os.path.realpath(sys.executable)
    with teller.looking("modules") as values:
        values["modules"] = {name: found for name in asked["packages"] if (found := modules(name))}
    if "start-up" in asked["checks"]:
        with teller.looking("start-up") as values:
            values.update(started())
    if "standard-library" in asked["checks"]:
        with teller.looking("standard-library") as values:
            values["broken"], values["lacking"] = library()


def library() -> tuple[list[dict[str, str]], list[str]]:
    """Import the standard library; return what fails, with its error, and what this Python was built without."""
    failed = {name: error for name in (*LIBRARY, *OPTIONAL) if (error := _failure(name)) is not None}
    lacking = [name for name, error in failed.items() if _is_absent(name, error)]
    broken = [{"name": name, "error": _told(error)} for name, error in failed.items() if name not in lacking]
    return broken, lacking


def _failure(name: str) -> BaseException | None:
    try:
        importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever a damaged file raises is its failure
        return error
    return None


def _is_absent(name: str, error: BaseException) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name is not None and error.name == OPTIONAL.get(name)


def _told(error: BaseException) -> str:
    where = f" in {error.filename}" if isinstance(error, SyntaxError) and error.filename else ""
    return f"{type(error).__name__}{where}: {error}"[:SHOWN_CHARACTERS]


def started() -> dict[str, Any]:
    """Start this Python once to do nothing; return what it complains of, and where ``sitecustomize`` is."""
    import subprocess  # here, so that a broken one is told as what it is

    done = subprocess.run(
        [sys.executable, "-I", "-c", "pass"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=START_SECONDS,
        check=False,
    )
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    return {
        "lines": [line[:SHOWN_CHARACTERS] for line in lines[:SHOWN_LINES]],
        "code": done.returncode,
        "customizing": {name: _origin(name) for name in ("sitecustomize", "usercustomize")} if lines else {},
    }


def _origin(name: str) -> str:
    found = importlib.util.find_spec(name)
    return (found.origin or "") if found is not None else ""


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
    from . import distributions  # here, so that what it imports can be told to be broken

    wanted = distributions.normalised(name)
    those = [info for info in distributions.infos() if info.name == wanted]
    return [path for info in those[:1] for path, _, _ in distributions.record_rows(info)] or conda_files(name)


def conda_files(name: str) -> list[str]:
    """Return the files of a conda package; an empty list where its record cannot be read."""
    folder = os.path.join(sys.prefix, "conda-meta")
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if entry.endswith(".json") and entry.rsplit("-", 2)[0] == name:
            try:
                return [str(path) for path in json.loads(plain.read(os.path.join(folder, entry))).get("files", ())]
            except (OSError, ValueError, AttributeError, TypeError, RecursionError):
                return []
    return []
