"""An environment on disk → what a lockfile says about it, whoever made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conda_llmenv.model import AskedEnvironment, EnvState, LockedEnvironment
from conda_llmenv.prefix.inspect import Distribution, InstalledRecord, distributions, installed
from conda_llmenv.prefix.state import read_spec, read_state
from conda_llmenv.prefix.variables import read_variables
from conda_llmenv.redact import MASK, strip

SHOWN = {"python": "python", "cuda-version": "CUDA", "pytorch": "torch"}
"""Packages whose version a reader looks for first, with their label."""


def read_locked(prefix: Path, channels: Sequence[str] = ()) -> LockedEnvironment:
    """Return what is in an environment, pinned.

    Args:
        prefix: the environment.
        channels: what to list where we have not made it and so do not know what was asked for.

    Raises:
        PrefixError: its records or its state are broken.
    """
    records, state, spec = installed(prefix), read_state(prefix), read_spec(prefix) or {}
    asked: Mapping[str, Any] = spec.get("asked", {})
    return LockedEnvironment(
        packages={record.name: record.version for record in records},
        channels=tuple(_channels(spec) if spec else channels),
        nodefaults=bool(asked.get("nodefaults")),
        pip=tuple(_pip(spec) if spec else _foreign_pip(distributions(prefix))),
        variables=read_variables(prefix),
        facts=_facts(records, state),
    )


def read_asked(prefix: Path) -> AskedEnvironment | None:
    """Return what was asked for when we made an environment; None where we did not.

    Raises:
        PrefixError: what we noted is broken.
    """
    spec = read_spec(prefix)
    if spec is None:
        return None
    asked, pip = spec["asked"], spec["asked"]["pip"]
    return AskedEnvironment(
        dependencies=tuple(text for one in asked["dependencies"] for text in one["specs"]),
        channels=tuple(_channels(spec)),
        nodefaults=bool(asked["nodefaults"]),
        pip=tuple(strip(one["text"]) for one in (*pip["options"], *pip["requirements"])),
        variables={one["name"]: one["value"] for one in asked["variables"] if one["value"] is not None},
    )


def _channels(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the channels as they were asked for; one that had a secret in its name is written as its clean address."""
    names = [channel["name"] for channel in spec["asked"]["channels"]]
    addresses = list(spec.get("channels", ()))
    if not names:
        yield from addresses
    for name in names:
        end = name.rstrip("/").rpartition("/")[2]
        yield next((url for url in addresses if url.endswith(f"/{end}")), strip(name)) if MASK in name else name


def _pip(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from (strip(option["text"]) for option in spec["asked"]["pip"]["options"])
    for package in spec.get("pip", ()):
        yield package["requirement"] or f"{package['name']}=={package['version']}"


def _foreign_pip(found: Sequence[Distribution]) -> Iterator[str]:
    for one in found:
        yield f"{one.name} @ {strip(one.source)}" if one.source else f"{one.name}=={one.version}"


def _facts(records: Sequence[InstalledRecord], state: EnvState | None) -> dict[str, str]:
    versions = {record.name: record.version for record in records}
    facts = {"tier": state.tier or "", "recipe": state.recipe or ""} if state else {}
    facts |= {label: versions.get(name, "") for name, label in SHOWN.items()}
    facts["date"] = state.created if state else ""
    return {label: text for label, text in facts.items() if text}
