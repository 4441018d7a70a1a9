"""Finds a Jupyter server: the one in the environment, or one elsewhere on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from conda_llmenv.ports import CommandRunner

SERVE = Path(__file__).parent / "inside" / "serve.py"

SECONDS = 60.0
"""An interpreter on a slow network file system may take this long to start."""

PROGRAMS = ("jupyter-lab", "jupyter-notebook", "jupyter-server")
"""What installations of a server put on PATH."""

TITLES = {
    "jupyterlab": "JupyterLab",
    "nbclassic": "Jupyter's classic notebook",
    "jupyter_server": "Jupyter Server, without pages,",
}

PAGES = {"jupyterlab": "/lab", "nbclassic": "/tree"}


class FoundServer(Struct, frozen=True):
    """A Jupyter server that an interpreter can run.

    Attributes:
        python: the interpreter.
        name: the distribution that brings it; empty where there is none.
        version: of that distribution.
        old: what is there and too old to be used, for a message.
        problem: why the interpreter could not be asked.
    """

    python: Path
    name: str = ""
    version: str = ""
    old: str = ""
    problem: str = ""

    @property
    def title(self) -> str:
        """Name and version for people."""
        return f"{TITLES[self.name]} {self.version}"

    @property
    def page(self) -> str:
        """The path of the page to open."""
        return PAGES.get(self.name, "/")


def find_server(python: Path, environ: Mapping[str, str], run: CommandRunner) -> FoundServer:
    """Return the best server that an interpreter has; its name is empty where there is none."""
    try:
        done = run([str(python), "-I", str(SERVE), "find"], env=environ, timeout=SECONDS)
    except OSError as error:
        return FoundServer(python, problem=f"{python}: {error.strerror}")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return FoundServer(python, problem=" ".join(done.stderr.splitlines()[-1:]) or f"{python} gave no answer")
    return FoundServer(python, found.get("name", ""), found.get("version", ""), found.get("old", ""))


def has_kernel(server: FoundServer, prefix: Path, environ: Mapping[str, str], run: CommandRunner) -> bool:
    """Return whether a kernel that a server shows is started with an environment's own Python."""
    try:
        done = run([str(server.python), "-I", str(SERVE), "kernels"], env=environ, timeout=SECONDS)
        programs = json.loads(done.stdout)
    except (OSError, ValueError):
        return False
    own = (prefix / "bin").resolve()
    return any(Path(program).is_absolute() and Path(program).parent.resolve() == own for program in programs)


def find_elsewhere(
    prefix: Path, environ: Mapping[str, str], root: Path | None, run: CommandRunner
) -> FoundServer | None:
    """Return a server outside of the environment: the first on PATH, then that of conda's base environment.

    Args:
        prefix: the environment, which is passed over.
        environ: for PATH.
        root: conda's base environment, or None without one.
        run: starts the interpreters.
    """
    own = (prefix / "bin").resolve()
    places = [*_on_path(environ), *([root / "bin"] if root else [])]
    for folder in dict.fromkeys(place for place in places if place.resolve() != own):
        found = find_server(folder / "python3", environ, run)
        if found.name:
            return found
    return None


def _on_path(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of the interpreters that the programs on PATH belong to; links are followed."""
    for entry in environ.get("PATH", "").split(os.pathsep):
        program = _first(Path(entry, name) for name in PROGRAMS)
        if entry and program is not None and (program.resolve().parent / "python3").exists():
            yield program.resolve().parent


def _first(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if os.access(path, os.X_OK)), None)
