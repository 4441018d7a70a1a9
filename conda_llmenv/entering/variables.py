"""The variables that packages (``etc/conda/env_vars.d``) and the person (``conda-meta/state``) set at activation."""

from __future__ import annotations

import errno
import json
import os
import stat
from shlex import quote

from .failing import Failed, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, NoReturn, Tuple

PACKAGE_VARIABLES = os.path.join("etc", "conda", "env_vars.d")
"""Where packages put JSON files of variables (``conda.base.constants.PACKAGE_ENV_VARS_DIR``)."""

STATE = os.path.join("conda-meta", "state")

LARGEST = 2**24
"""Bytes that are read of a file with variables."""

UNSET = "***unset***"
"""What conda writes for a variable that a package sets and the person does not want."""

RESERVED = ("PATH",)
"""Names that conda sets itself and ignores in an environment, with a warning at every activation."""


def read(prefix: str) -> Tuple[Dict[str, str], List[Note]]:
    """Return the variables by name, as they are written: conda makes names upper-case when it exports them.

    Raises:
        Failed: a file is broken; the message names it.
    """
    values: Dict[str, str] = {}
    for path in _packages(prefix):
        values.update(_texts(path, _load(path)))
    state = os.path.join(prefix, STATE)
    values.update(_texts(state, _load(state).get("env_vars", {})))
    reserved = [name for name in values if name.upper() in RESERVED]
    kept = {name: value for name, value in values.items() if name not in reserved and value != UNSET}
    return kept, [_ignored(prefix, name) for name in reserved if values[name] != UNSET]


def _ignored(prefix: str, name: str) -> Note:
    return Note(
        "reserved-variable",
        f"{prefix} sets {name}, which conda sets itself and ignores there",
        f"take it out with `conda env config vars unset -p {quote(prefix)} {name}`",
    )


def _packages(prefix: str) -> List[str]:
    """Return the files of packages; conda reads every entry, whatever its name ends in."""
    folder = os.path.join(prefix, PACKAGE_VARIABLES)
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Failed(f"{folder} cannot be read: {error.strerror}") from error


def _load(path: str) -> Dict[str, Any]:
    try:
        data = json.loads(_read(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise Failed(
            f"{path} is no JSON text that can be read, and `conda activate` fails there, too",
            hint="repair or remove that file",
        ) from error
    return data if isinstance(data, dict) else _refuse(path)


def _read(path: str) -> bytes:
    """Return the content of a plain file.

    Raises:
        OSError: it cannot be read, or is a pipe or a device, which is not waited for.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "it is no plain file", path)
    with open(path, "rb") as stream:
        return stream.read(LARGEST)


def _texts(path: str, values: Any) -> Dict[str, str]:
    """Return values as conda writes them into a shell: numbers as they print, null as an empty text."""
    if not isinstance(values, dict):
        _refuse(path)
    found = {}
    for name, value in values.items():
        text = "" if value is None else str(value)
        if isinstance(value, (dict, list)) or not _can_be_set(name, text):
            _refuse(path)
        found[name] = text
    return found


def _can_be_set(name: str, value: str) -> bool:
    """Return whether a program can be started with this variable at all."""
    try:
        os.fsencode(name + value)
    except UnicodeEncodeError:
        return False
    return bool(name) and "=" not in name and "\0" not in name + value


def _refuse(path: str) -> NoReturn:
    raise Failed(f"{path} is not in conda's format", hint="repair or remove that file")
