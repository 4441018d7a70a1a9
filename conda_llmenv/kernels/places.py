"""Where Jupyter looks for kernelspecs: the data folders of ``jupyter_core.paths.jupyter_path``, in its order."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import platformdirs

from conda_llmenv.model.kernels import Place

USER, ENVIRONMENT, SYSTEM, LISTED = "user", "environment", "system", "JUPYTER_PATH"

SYSTEM_FOLDERS = ("/usr/local/share/jupyter", "/usr/share/jupyter")

SHARE = Path("share", "jupyter", "kernels")
"""Where kernelspecs are below a prefix."""


def user_kernels(environ: Mapping[str, str]) -> Path:
    """Return the folder of this account's own kernelspecs, the one ``--user`` means to every tool of Jupyter's."""
    return _data_folder(environ) / "kernels"


def prefix_kernels(prefix: Path) -> Path:
    """Return the folder of kernelspecs that a Jupyter installed in ``prefix`` reads."""
    return prefix / SHARE


def searched(environ: Mapping[str, str], environments: Iterable[Path] = ()) -> tuple[Place, ...]:
    """Return the folders of kernelspecs on this machine, each once.

    First those that any Jupyter of this account reads, in Jupyter's order, then those that only a Jupyter inside one of
    ``environments`` does.
    """
    listed = [Place(Path(entry, "kernels"), LISTED) for entry in _split(environ.get("JUPYTER_PATH", ""))]
    base = environ.get("PYTHONUSERBASE") or _home(environ) / ".local"
    user = [Place(user_kernels(environ), USER), Place(Path(base) / SHARE, USER)]
    system = [Place(Path(folder, "kernels"), SYSTEM) for folder in _system_folders(environ)]
    ipython = Place(Path(environ.get("IPYTHONDIR") or _home(environ) / ".ipython", "kernels"), USER)
    inside = [Place(prefix_kernels(prefix), ENVIRONMENT) for prefix in environments]
    found: dict[str, Place] = {}
    for place in (*listed, *user, *system, ipython, *inside):
        found.setdefault(os.path.realpath(place.path), place)
    return tuple(found.values())


def _data_folder(environ: Mapping[str, str]) -> Path:
    """Return ``jupyter --data-dir``."""
    if environ.get("JUPYTER_DATA_DIR"):
        return Path(environ["JUPYTER_DATA_DIR"])
    if _on(environ, "JUPYTER_PLATFORM_DIRS"):
        return Path(platformdirs.user_data_dir("jupyter", appauthor=False))
    if sys.platform == "darwin":
        return _home(environ) / "Library" / "Jupyter"
    return Path(environ.get("XDG_DATA_HOME") or _home(environ) / ".local" / "share") / "jupyter"


def _system_folders(environ: Mapping[str, str]) -> list[str]:
    if _on(environ, "JUPYTER_PLATFORM_DIRS"):
        return platformdirs.site_data_dir("jupyter", appauthor=False, multipath=True).split(os.pathsep)
    return list(SYSTEM_FOLDERS)


def _split(text: str) -> list[str]:
    return [entry for entry in text.split(os.pathsep) if entry]


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home())


def _on(environ: Mapping[str, str], name: str) -> bool:
    """Return whether a switch is on, by the words ``jupyter_core.utils`` takes for off."""
    return environ.get(name, "no").lower() not in {"", "0", "n", "no", "off", "false"}
