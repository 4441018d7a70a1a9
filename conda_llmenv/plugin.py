"""conda's way in. Loaded on every conda call, so nothing is imported here but conda's own hook types.

The hooks themselves are called on most conda calls too (the parser of ``conda create`` lists the formats it can read),
so what they yield is cheap, and what does the work is imported when it is used.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from conda.plugins import hookimpl
from conda.plugins.types import (
    CondaEnvironmentExporter,
    CondaEnvironmentSpecifier,
    CondaHealthCheck,
    CondaSetting,
    CondaSubcommand,
    EnvironmentFormat,
    EnvironmentSpecBase,
)

LOCK_FILES = ("environment.lock.yml", "environment.lock.yaml")
PROJECT_FILES = ("llmenv.yml", "llmenv.yaml")
EXACT_FORMATS = {
    "pixi": "pixi.lock with addresses and hashes, conda and pip packages",
    "conda-lock": "conda-lock.yml with addresses and hashes, conda and pip packages",
    "pylock": "pylock.toml of what pip installed",
    "requirements": "requirements with hashes of what pip installed",
}
"""Formats that need ``--format``: their usual file names belong to other plugins as well."""


@hookimpl
def conda_subcommands() -> Iterator[CondaSubcommand]:
    """Add ``conda llmenv``; without a parser of conda's the whole argv reaches click."""
    yield CondaSubcommand(
        name="llmenv",
        summary="Compose, check and create environments for training language models.",
        action=_run,
    )


def _run(arguments: tuple[str, ...]) -> int:
    from conda_llmenv.cli.main import main

    return main(arguments, program="conda llmenv")


class LayersSpec(EnvironmentSpecBase):  # type: ignore[misc]  # conda brings no types
    """Reads a recipe, a fragment or a project file, with everything it stands on, as one environment of conda's."""

    def __init__(self, filename: str | None = None, **_options: Any) -> None:
        self._filename = filename

    def can_handle(self) -> bool:
        """Return whether conda should leave the file to us; raise where it is ours but cannot be read."""
        from conda_llmenv.hooks.layers import is_ours

        return is_ours(self._filename)

    @property
    def env(self) -> Any:
        """Return conda's model of the composed environment."""
        from conda_llmenv.hooks.layers import compose_file

        return compose_file(self._filename or "")


class LockSpec(EnvironmentSpecBase):  # type: ignore[misc]  # conda brings no types
    """Reads an ``environment.lock.yml`` of ours without the marker that conda would ask for as a channel."""

    def __init__(self, filename: str | None = None, **_options: Any) -> None:
        self._filename = filename

    def can_handle(self) -> bool:
        """Return whether the file is a lockfile of ours."""
        from conda_llmenv.hooks.lockfile import is_lock

        return is_lock(self._filename)

    @property
    def env(self) -> Any:
        """Return conda's model of the locked environment."""
        from conda_llmenv.hooks.lockfile import read_lock

        return read_lock(self._filename or "")


class ExactLockSpec(EnvironmentSpecBase):  # type: ignore[misc]  # conda brings no types
    """Reads a pixi.lock or conda-lock.yml: nothing is solved, and conda fetches what it lists by hash."""

    def __init__(self, filename: str | None = None, **_options: Any) -> None:
        self._filename = filename

    def can_handle(self) -> bool:
        """Return whether the file is a lockfile with addresses and hashes that conda itself does not read."""
        from conda_llmenv.hooks.exact import is_exact_lock

        return is_exact_lock(self._filename)

    @property
    def env(self) -> Any:
        """Return conda's model of the locked environment."""
        from conda_llmenv.hooks.exact import read_exact_lock

        return read_exact_lock(self._filename or "")


@hookimpl
def conda_environment_specifiers() -> Iterator[CondaEnvironmentSpecifier]:
    """Let ``conda env create -f`` and ``conda create --file`` read recipes, fragments, project files and locks."""
    yield CondaEnvironmentSpecifier(
        name="llmenv",
        environment_spec=LayersSpec,
        default_filenames=PROJECT_FILES,
        description="Recipe, fragment or project file of llmenv, with the layers it stands on",
    )
    yield CondaEnvironmentSpecifier(
        name="llmenv-lock",
        environment_spec=LockSpec,
        default_filenames=LOCK_FILES,
        description="environment.lock.yml: every package with its version, no builds and no prefix",
        environment_format=EnvironmentFormat.lockfile,
    )
    yield CondaEnvironmentSpecifier(
        name="llmenv-exact",
        environment_spec=ExactLockSpec,
        description="pixi.lock or conda-lock.yml, the conda packages of this platform by address and hash",
        environment_format=EnvironmentFormat.lockfile,
    )


@hookimpl
def conda_environment_exporters() -> Iterator[CondaEnvironmentExporter]:
    """Let ``conda export`` write our lockfile, and what was asked for when we made the environment."""
    yield CondaEnvironmentExporter(
        name="llmenv-lock",
        aliases=(),
        default_filenames=LOCK_FILES,
        export=_export_lock,
        description="environment.lock.yml: every package with its version, no builds and no prefix",
        environment_format=EnvironmentFormat.lockfile,
    )
    for name, description in EXACT_FORMATS.items():
        yield CondaEnvironmentExporter(
            name=f"llmenv-{name}",
            aliases=(),
            default_filenames=(),
            export=functools.partial(_export_as, name),
            description=description,
            environment_format=EnvironmentFormat.lockfile,
        )
    yield CondaEnvironmentExporter(
        name="llmenv",
        aliases=(),
        default_filenames=PROJECT_FILES,
        export=_export_asked,
        description="What was asked for when llmenv made the environment",
    )


def _export_lock(environment: Any) -> str:
    from conda_llmenv.hooks.export import export_lock

    return export_lock(environment)


def _export_as(name: str, environment: Any) -> str:
    from conda_llmenv.hooks.export import export_as

    return export_as(name, environment)


def _export_asked(environment: Any) -> str:
    from conda_llmenv.hooks.export import export_asked

    return export_asked(environment)


@hookimpl
def conda_settings() -> Iterator[CondaSetting]:
    """Add our settings below ``plugins:`` in .condarc."""
    from conda.common.configuration import PrimitiveParameter, SequenceParameter

    one = PrimitiveParameter("", element_type=str)
    yield CondaSetting("llmenv_engine", "Engine of llmenv: auto, rattler, conda or libmamba.", one)
    yield CondaSetting("llmenv_installer", "What installs pip sections: auto, uv or pip.", one)
    yield CondaSetting("llmenv_default_tier", "Tier where none is asked for, instead of the detected one.", one)
    yield CondaSetting(
        "llmenv_envs_path",
        "Folders with fragments (and `tiers/` in them) that llmenv searches after those of the project.",
        SequenceParameter(PrimitiveParameter("", element_type=str)),
    )
    yield CondaSetting("llmenv_history", "Folder of verification reports, which a team may share.", one)


@hookimpl
def conda_error_hints(error: Any) -> Iterator[Any]:
    """Say what helps where conda stumbles over a file of ours, or over a driver that is not on this machine."""
    from conda_llmenv.hooks.hints import hints

    yield from hints(error)


@hookimpl
def conda_health_checks() -> Iterator[CondaHealthCheck]:
    """Let ``conda doctor`` say whether an environment of ours still works on this machine."""
    yield CondaHealthCheck(
        name="llmenv",
        action=_check_health,
        summary="Check that an environment made by llmenv still works on this machine",
    )


def _check_health(prefix: str, verbose: bool) -> None:  # noqa: FBT001 - conda calls it so
    from conda_llmenv.hooks.health import check_health

    check_health(prefix, verbose=bool(verbose))
