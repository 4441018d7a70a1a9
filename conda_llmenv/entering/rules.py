"""The rules of ``conda/activate.py``: PATH and conda's own variables, then those that are set, then the scripts.

An environment that is active in the given variables is left first: its ``deactivate.d`` runs, and its ``bin`` goes
from PATH. Other than conda, which leaves what a shell put before the old environment on PATH where it is, the
environment's own ``bin`` always comes first; and an environment that is active already gets its variables anew.
"""

from __future__ import annotations

import os

from . import variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Collection, Dict, List, Mapping, Optional, Tuple

    from .failing import Note
    from .sourcing import Run

ACTIVATE = os.path.join("etc", "conda", "activate.d")
DEACTIVATE = os.path.join("etc", "conda", "deactivate.d")

NO_PATH = "/usr/bin"
"""PATH where there is none, as conda has it."""


def enter(
    prefix: str, environ: Mapping[str, str], run: Run, *, limit: float, without: Collection[str] = ()
) -> Tuple[Dict[str, str], List[Note]]:
    """Return the variables of an activated environment; a shell is started only for scripts that are there.

    A folder without ``conda-meta`` is entered as a virtual environment is: its ``bin`` on PATH and ``VIRTUAL_ENV``.

    Args:
        prefix: the environment, whoever made it.
        environ: the variables of the calling program.
        run: starts the shell for the scripts.
        limit: seconds that the scripts may take together.
        without: scripts to leave out.

    Raises:
        Failed: a file with variables is broken (conda would fail, too), or a script hangs or replaces the shell.
    """
    prefix = os.path.abspath(prefix)  # as conda does: dots resolved, links kept
    if not os.path.isdir(os.path.join(prefix, "conda-meta")):
        return _entered(prefix, environ), []
    wanted, notes = variables.read(prefix)
    level, active = _active(environ)
    values = dict(environ)
    if active is not None:
        scripts = _scripts(active, DEACTIVATE, without)[::-1]
        values, told = _source(scripts, values, run, prefix, limit)
        notes += told
    if active != prefix:
        values.update(_saved(wanted, environ, level))
    values.update({name.upper(): value for name, value in wanted.items()})
    values.update(_conda(prefix, environ, level, active))
    values, told = _source(_scripts(prefix, ACTIVATE, without), values, run, prefix, limit)
    return values, notes + told


def _source(
    scripts: List[str], values: Dict[str, str], run: Run, prefix: str, limit: float
) -> Tuple[Dict[str, str], List[Note]]:
    if not scripts:
        return values, []
    from .sourcing import source

    return source(scripts, values, run, arguments=("activate", prefix), limit=limit)


def _entered(prefix: str, environ: Mapping[str, str]) -> Dict[str, str]:
    """Return the variables of a virtual environment, or of any folder with a ``bin``."""
    left = environ.get("VIRTUAL_ENV")
    values = {**environ, "PATH": _path(prefix, environ, left)}
    if os.path.isfile(os.path.join(prefix, "pyvenv.cfg")):
        values["VIRTUAL_ENV"] = prefix
        values.pop("PYTHONHOME", None)
    return values


def _active(environ: Mapping[str, str]) -> Tuple[int, Optional[str]]:
    """Return how many environments are active on top of each other, and the last of them."""
    level, prefix = environ.get("CONDA_SHLVL", "").strip(), environ.get("CONDA_PREFIX")
    if not prefix or not level.isdecimal() or int(level) < 1:
        return 0, None
    return int(level), os.path.normpath(prefix)


def _conda(prefix: str, environ: Mapping[str, str], level: int, active: Optional[str]) -> Dict[str, str]:
    """Return the variables that are conda's own; the prompt's is what conda has by default."""
    name = _name(prefix)
    own = {
        "PATH": _path(prefix, environ, active),
        "CONDA_PREFIX": prefix,
        "CONDA_SHLVL": str(level if active == prefix else level + 1),
        "CONDA_DEFAULT_ENV": name,
        "CONDA_PROMPT_MODIFIER": f"({name}) ",
    }
    if active is not None and active != prefix:
        own[f"CONDA_PREFIX_{level}"] = active
    return own


def _name(prefix: str) -> str:
    """Return the name conda shows: ``base`` for a conda installation, a path for what lies outside ``envs``."""
    if os.path.isdir(os.path.join(prefix, "condabin")):
        return "base"
    parent, name = os.path.split(prefix)
    return name if os.path.basename(parent) == "envs" else prefix


def _path(prefix: str, environ: Mapping[str, str], left: Optional[str]) -> str:
    """Return PATH with the environment's ``bin`` first, and once less that of the one it takes the place of."""
    entries = environ.get("PATH", NO_PATH).split(os.pathsep)
    old = None if left is None else os.path.normpath(os.path.join(left, "bin"))
    place = next((place for place, entry in enumerate(entries) if entry and os.path.normpath(entry) == old), None)
    if place is not None:
        del entries[place]
    return os.pathsep.join([os.path.join(prefix, "bin"), *entries])


def _saved(wanted: Mapping[str, str], environ: Mapping[str, str], level: int) -> Dict[str, str]:
    """Return what ``conda deactivate`` would give back."""
    return {f"__CONDA_SHLVL_{level}_{name}".upper(): environ[name] for name in wanted if name in environ}


def _scripts(prefix: str, folder: str, without: Collection[str]) -> List[str]:
    """Return the scripts of a folder by name, hidden ones too."""
    place = os.path.join(prefix, folder)
    try:
        found = sorted(os.path.join(place, name) for name in os.listdir(place) if name.endswith(".sh"))
    except OSError:
        return []
    return [path for path in found if path not in without]
