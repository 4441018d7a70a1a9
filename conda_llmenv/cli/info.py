"""``llmenv info``: what an environment is, or what this machine and this program are."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conda_llmenv import __version__
from conda_llmenv.cli import console
from conda_llmenv.cli.options import json_option, target_options
from conda_llmenv.errors import InputError

if TYPE_CHECKING:
    from conda_llmenv.config import CondaConfig


@click.command()
@target_options
@click.option(
    "--digest", is_flag=True, help="Read every file and show what the environment comes to, wherever it lives."
)
@json_option
def info(name: str | None, prefix: str | None, *, digest: bool, as_json: bool) -> None:
    """Show what an environment is, or what this machine and program are."""
    if name or prefix or digest:
        _environment(name, prefix, digest=digest, as_json=as_json)
    else:
        _program(as_json=as_json)


def _environment(name: str | None, prefix: str | None, *, digest: bool, as_json: bool) -> None:
    from conda_llmenv.cli.wiring import existing_prefix, user_config
    from conda_llmenv.prefix.summary import describe

    place = existing_prefix(name, prefix, user_config())
    facts = describe(place)
    if digest:
        facts["digest"] = _digest(place, as_json=as_json)
    if as_json:
        console.payload("info", facts)
        return
    facts["size"] = console.size(facts.pop("bytes"))
    for key, value in facts.items():
        if value == "":
            continue
        for number, line in enumerate(_lines(value)):
            console.fact(key if number == 0 else "", line)


def _digest(place: Path, *, as_json: bool) -> dict[str, Any] | str:
    from conda_llmenv.cli.integrity import digest_json
    from conda_llmenv.prefix.integrity.digest import compute_digest

    found = compute_digest(place)
    return digest_json(found) if as_json else found.value


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{key}={item}" for key, item in value.items()] or ["none"]
    if isinstance(value, list):
        return [str(item) for item in value] or ["none"]
    return ["unknown" if value is None else str(value)]


def _program(*, as_json: bool) -> None:
    from conda_llmenv.cli.tiers import host_json, say_host
    from conda_llmenv.cli.wiring import caches, host_facts, user_config
    from conda_llmenv.engines.registry import availability
    from conda_llmenv.pypi.registry import installers

    config, facts = user_config(), host_facts()
    engines = {name: state.reason for name, state in availability().items()}
    pip, auto = installers(), _chosen_engine(config)
    if as_json:
        console.payload(
            "info",
            {
                "version": __version__,
                "python": sys.version.split()[0],
                "engines": engines,
                "engine": auto,
                "installers": pip,
                "envs_dirs": [str(folder) for folder in config.envs_dirs],
                "package_cache": str(caches(config).packages),
                "config_files": [str(path) for path in config.files],
                "host": host_json(facts),
            },
        )
        return
    console.fact("llmenv", f"{__version__}, Python {sys.version.split()[0]}, py-rattler {_version('py-rattler')}")
    for engine, state in engines.items():
        console.fact("engine", f"{engine}: {state}")
    console.fact("chosen", auto)
    for installer, state in pip.items():
        console.fact("installer", f"{installer}: {state}")
    console.fact("envs", ", ".join(str(folder) for folder in config.envs_dirs))
    console.fact("cache", str(caches(config).packages))
    console.fact("config", ", ".join(str(path) for path in config.files) or "no .condarc")
    say_host(facts)


def _chosen_engine(config: CondaConfig) -> str:
    """Return which engine ``auto`` means and why, or why there is none."""
    from conda_llmenv.cli.wiring import AUTO, engine_choice

    try:
        return engine_choice(AUTO, config).reason
    except InputError as error:
        return f"none: {error.message}"


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
