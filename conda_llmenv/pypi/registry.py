"""Which installer does the pip section, and why."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from conda_llmenv.errors import InputError
from conda_llmenv.ports import PipInstaller
from conda_llmenv.pypi.config import read_config

NO_UV = "it is neither installed beside llmenv nor on PATH"

NAMES = ("uv", "pip")
"""The installers, preferred first."""


class Choice(Struct, frozen=True):
    """An installer with the sentence that says why it was chosen."""

    installer: PipInstaller
    reason: str


def check_installer(name: str) -> None:
    """Check the name of an installer, whether or not there is anything to install.

    Raises:
        InputError: there is no such installer.
    """
    if name not in ("auto", *NAMES):
        raise InputError(f"no installer is called {name!r}", hint=f"choose one of: auto, {', '.join(NAMES)}")


def choose(name: str = "auto", prefix: Path | None = None) -> Choice:
    """Return the installer of a name; ``auto`` takes uv where its program runs here, else pip.

    Args:
        name: ``auto``, ``uv`` or ``pip``.
        prefix: an existing environment whose own ``pip.conf`` counts too.

    Raises:
        InputError: there is no such installer, or pip's configuration cannot be read.
    """
    check_installer(name)
    config = read_config(os.environ, Path.home(), prefix)
    from conda_llmenv.pypi.uvcommand import find_uv

    problem = "" if find_uv() else NO_UV
    if name == "pip" or (name == "auto" and problem):
        from conda_llmenv.pypi.pip import PipPipInstaller

        return Choice(PipPipInstaller(config), "asked for" if name == "pip" else f"uv cannot be used: {problem}")
    if problem:
        raise InputError(f"uv cannot be used: {problem}", hint="pip install --force-reinstall uv")
    from conda_llmenv.pypi.uv import UvInstaller

    return Choice(UvInstaller(config), "asked for" if name == "uv" else "the default")


def installers() -> dict[str, str]:
    """Return each installer's state: which program it is, or why it cannot be used."""
    from conda_llmenv.pypi.uvcommand import find_uv

    return {"uv": find_uv() or NO_UV, "pip": "the environment's own, where uv cannot be used"}
