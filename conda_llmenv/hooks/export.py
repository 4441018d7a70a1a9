"""``conda export --format llmenv-lock`` and ``--format llmenv``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conda_llmenv.cli.wiring import user_config
from conda_llmenv.config import resolve_channels
from conda_llmenv.errors import NotFoundError
from conda_llmenv.hooks.errors import as_conda_errors
from conda_llmenv.locks.environment_lock import write_asked
from conda_llmenv.locks.registry import format_of
from conda_llmenv.prefix.locked import read_asked, read_lock


def export_lock(environment: Any) -> str:
    """Return the lockfile of an environment that conda, mamba or llmenv made.

    Raises:
        CondaValueError: its records are broken.
    """
    return export_as("environment", environment)


def export_as(name: str, environment: Any) -> str:
    """Return an environment in one of our lock formats.

    Raises:
        CondaValueError: its records are broken, or the format cannot say what is in it.
    """
    with as_conda_errors():
        names = tuple(map(str, environment.config.channels)) if environment.config else ()
        channels = resolve_channels(names, user_config()) if names else ()
        lock = read_lock(Path(environment.prefix), channels, subdir=environment.platform)
        return format_of(name).write(lock)


def export_asked(environment: Any) -> str:
    """Return what was asked for as an environment.yml: the specs as they were composed, not what was chosen.

    Raises:
        CondaValueError: llmenv has not made this environment, so nobody noted what was asked for.
    """
    with as_conda_errors():
        asked = read_asked(Path(environment.prefix))
        if asked is None:
            raise NotFoundError(
                f"llmenv did not make {environment.prefix}, so what was asked for is not known",
                hint="`conda export --from-history` has what conda noted; `--format llmenv-lock` has every version",
            )
        return write_asked(asked)
