"""What an environment says about itself, for ``list`` and ``info``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import EnvState, Phase
from conda_llmenv.prefix.environments import known, unfinished
from conda_llmenv.prefix.inspect import installed, interpreter, size
from conda_llmenv.prefix.location import EnvironmentFolders
from conda_llmenv.prefix.state import read_spec, read_state
from conda_llmenv.prefix.unfinished import creating_reason
from conda_llmenv.prefix.variables import read_variables
from conda_llmenv.redact import mask_variable

FOREIGN = "foreign"
"""The phase shown for an environment that conda, mamba or somebody else made."""

INTERRUPTED = "interrupted"
"""The phase shown where a run that was killed, or is still at work, left its journal."""

BROKEN = "broken"
"""The phase shown where the state cannot be read."""


class Summary(Struct, frozen=True):
    """One environment of a list; ``name`` is empty for one outside the folders of named environments."""

    name: str
    prefix: Path
    phase: str
    tier: str = ""
    recipe: str = ""


def summaries(config: EnvironmentFolders, registry: Path) -> tuple[Summary, ...]:
    """Return every environment that conda would list, sorted by prefix."""
    found = known(registry, config.envs_dirs)
    left = (place for folder in config.envs_dirs for place in unfinished(folder) if place not in found)
    interrupted = [Summary(place.name, place, INTERRUPTED) for place in left]
    return tuple(
        sorted(
            [*interrupted, *(_summary(prefix, config.envs_dirs) for prefix in found)],
            key=lambda summary: summary.prefix,
        )
    )


def _summary(prefix: Path, envs_dirs: tuple[Path, ...]) -> Summary:
    name = prefix.name if prefix.parent in envs_dirs else ""
    try:
        state = read_state(prefix)
    except PrefixError:
        return Summary(name, prefix, BROKEN)
    if state is None:
        return Summary(name, prefix, FOREIGN)
    return Summary(name, prefix, state.phase.value, state.tier or "", state.recipe or "")


def _reason(state: EnvState | None) -> str:
    if state is None or state.phase is not Phase.CREATING:
        return state.reason if state else ""
    return creating_reason(state)


def describe(prefix: Path) -> dict[str, Any]:
    """Return the facts of one environment, JSON-ready; the sizes are bytes on disk.

    Raises:
        PrefixError: its records or its state are broken.
    """
    records, state, spec = installed(prefix), read_state(prefix), read_spec(prefix) or {}
    python = interpreter(prefix, records)
    return {
        "prefix": str(prefix),
        "phase": state.phase.value if state else FOREIGN,
        "reason": _reason(state),
        "created": state.created if state else None,
        "tier": state.tier if state else None,
        "recipe": state.recipe if state else None,
        "python": python.version if python else None,
        "engine": state.facts.get("engine") if state else None,
        "conda": len(records),
        "pip": [f"{package['name']}=={package['version']}" for package in spec.get("pip", [])],
        "channels": spec.get("channels", []),
        "variables": {name: mask_variable(name, value) for name, value in read_variables(prefix).items()},
        "bytes": size(prefix),
    }
