"""The variables that a program sees after ``conda activate PREFIX``, worked out now and without conda.

The rules are those of ``conda/activate.py``: PATH and conda's own variables, then what packages
(``etc/conda/env_vars.d``) and the person (``conda-meta/state``) set, then the scripts in ``etc/conda/activate.d``,
sourced in the order of their names. An environment that is active in the given variables is left first: its
``deactivate.d`` runs, and its ``bin`` goes from PATH.

Other than conda, which leaves what a shell put before the old environment on PATH where it is, the environment's own
``bin`` always comes first; and an environment that is active already gets its variables anew.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct

from conda_llmenv.activation import RESERVED, UNSET
from conda_llmenv.errors import PrefixError
from conda_llmenv.model import Notice
from conda_llmenv.ports import CommandRunner
from conda_llmenv.prefix.sourcing import SECONDS, source
from conda_llmenv.prefix.variables import STATE

PACKAGE_VARIABLES = Path("etc", "conda", "env_vars.d")
"""Where packages put JSON files of variables (``conda.base.constants.PACKAGE_ENV_VARS_DIR``)."""

ACTIVATE = Path("etc", "conda", "activate.d")
DEACTIVATE = Path("etc", "conda", "deactivate.d")

NO_PATH = "/usr/bin"
"""PATH where there is none, as conda has it."""


class Activated(Struct, frozen=True):
    """What a program started in an environment sees, and what a person should know of how that came about."""

    environ: Mapping[str, str]
    notices: tuple[Notice, ...] = ()


def activated_environ(
    prefix: Path, environ: Mapping[str, str], run: CommandRunner, *, limit: float = SECONDS
) -> Activated:
    """Return the variables of an activated environment; a shell is started only for scripts that are there.

    A folder without ``conda-meta`` is entered as a virtual environment is: its ``bin`` on PATH and ``VIRTUAL_ENV``.

    Args:
        prefix: the environment, whoever made it.
        environ: the variables of the calling shell.
        run: starts the shell for the scripts.
        limit: seconds that the scripts may take together.

    Raises:
        PrefixError: a file with variables is broken (conda would fail, too), or a script hangs or replaces the shell.
    """
    prefix = Path(os.path.abspath(prefix))  # noqa: PTH100  # as conda does: dots resolved, links kept
    if not (prefix / "conda-meta").is_dir():
        return Activated(_entered(prefix, environ))
    variables, notices = _variables(prefix)
    level, active = _active(environ)
    values, arguments = dict(environ), ("activate", str(prefix))
    if active is not None:
        scripts = _scripts(active, DEACTIVATE)[::-1]
        values, told = source(scripts, values, run, arguments=arguments, limit=limit)
        notices += told
    if active != prefix:
        values.update(_saved(variables, environ, level))
    values.update({name.upper(): value for name, value in variables.items()})
    values.update(_conda(prefix, environ, level, active))
    values, told = source(_scripts(prefix, ACTIVATE), values, run, arguments=arguments, limit=limit)
    return Activated(values, (*notices, *told))


def _entered(prefix: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a virtual environment, or of any folder with a ``bin``."""
    left = environ.get("VIRTUAL_ENV")
    values = {**environ, "PATH": _path(prefix, environ, left)}
    if (prefix / "pyvenv.cfg").is_file():
        values["VIRTUAL_ENV"] = str(prefix)
        values.pop("PYTHONHOME", None)
    return values


def _active(environ: Mapping[str, str]) -> tuple[int, Path | None]:
    """Return how many environments are active on top of each other, and the last of them."""
    level, prefix = environ.get("CONDA_SHLVL", "").strip(), environ.get("CONDA_PREFIX")
    if not prefix or not level.isdecimal() or int(level) < 1:
        return 0, None
    return int(level), Path(prefix)


def _conda(prefix: Path, environ: Mapping[str, str], level: int, active: Path | None) -> dict[str, str]:
    """Return the variables that are conda's own; the prompt's is what conda has by default."""
    name = _name(prefix)
    own = {
        "PATH": _path(prefix, environ, None if active is None else str(active)),
        "CONDA_PREFIX": str(prefix),
        "CONDA_SHLVL": str(level if active == prefix else level + 1),
        "CONDA_DEFAULT_ENV": name,
        "CONDA_PROMPT_MODIFIER": f"({name}) ",
    }
    if active is not None and active != prefix:
        own[f"CONDA_PREFIX_{level}"] = str(active)
    return own


def _name(prefix: Path) -> str:
    """Return the name conda shows: ``base`` for a conda installation, a path for what lies outside ``envs``."""
    if (prefix / "condabin").is_dir():
        return "base"
    return prefix.name if prefix.parent.name == "envs" else str(prefix)


def _path(prefix: Path, environ: Mapping[str, str], left: str | None) -> str:
    """Return PATH with the environment's ``bin`` first, and once less that of the one it takes the place of."""
    entries = environ.get("PATH", NO_PATH).split(os.pathsep)
    old = None if left is None else Path(left, "bin")
    place = next((place for place, entry in enumerate(entries) if Path(entry) == old), None)
    if place is not None:
        del entries[place]
    return os.pathsep.join([str(prefix / "bin"), *entries])


def _saved(variables: Mapping[str, str], environ: Mapping[str, str], level: int) -> dict[str, str]:
    """Return what ``conda deactivate`` would give back."""
    return {f"__CONDA_SHLVL_{level}_{name}".upper(): environ[name] for name in variables if name in environ}


def _scripts(prefix: Path, folder: Path) -> list[Path]:
    """Return the scripts of a folder by name, hidden ones too."""
    try:
        return sorted(path for path in (prefix / folder).iterdir() if path.name.endswith(".sh"))
    except OSError:
        return []


def _variables(prefix: Path) -> tuple[dict[str, str], tuple[Notice, ...]]:
    """Return what packages and the person set, by name; conda makes the names upper-case when it exports them."""
    values: dict[str, str] = {}
    for path in _packages(prefix):
        values.update(_texts(path, _read(path)))
    state = _read(prefix / STATE)
    values.update(_texts(prefix / STATE, state.get("env_vars", {})))
    reserved = [name for name in values if name.upper() in RESERVED]
    kept = {name: value for name, value in values.items() if name not in reserved and value != UNSET}
    return kept, tuple(_ignored(prefix, name) for name in reserved if values[name] != UNSET)


def _ignored(prefix: Path, name: str) -> Notice:
    return Notice(
        "reserved-variable",
        f"{prefix} sets {name}, which conda sets itself and ignores there",
        hint=f"take it out with `conda env config vars unset -p {shlex.quote(str(prefix))} {name}`",
    )


def _packages(prefix: Path) -> list[Path]:
    """Return the files of packages; conda reads every entry, whatever its name ends in."""
    folder = prefix / PACKAGE_VARIABLES
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise PrefixError(f"{folder} cannot be read: {error.strerror}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise PrefixError(
            f"{path} is no JSON text that can be read, and `conda activate` fails there, too",
            hint="repair or remove that file",
        ) from error
    return data if isinstance(data, dict) else _refuse(path)


def _texts(path: Path, values: Any) -> dict[str, str]:
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


def _refuse(path: Path) -> NoReturn:
    raise PrefixError(f"{path} is not in conda's format", hint="repair or remove that file")
