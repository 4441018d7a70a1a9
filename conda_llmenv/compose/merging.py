"""Fragments in layer order → one environment, or one report of everything that contradicts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from conda_llmenv.compose.advice import Composed, advise, unused_takeovers
from conda_llmenv.compose.channels import merge_channels, nodefaults_origin
from conda_llmenv.compose.conflicts import raise_conflicts
from conda_llmenv.compose.ownership import settle_owners
from conda_llmenv.compose.pip_section import gather_requirements, merge_pip
from conda_llmenv.compose.specs import gather_specs, merge_specs
from conda_llmenv.compose.variables import merge_variables
from conda_llmenv.model import EnvSpec, Fragment, Kind, MergedSpec, Notice, PipRequirement, Sourced
from conda_llmenv.redact import mask

STRICT = "strict"


def merge(fragments: Sequence[Fragment]) -> EnvSpec:
    """Merge fragments that stand in layer order; a file that takes part twice counts once.

    Raises:
        ConflictError: layers contradict each other; every contradiction of every kind is in it.
    """
    layers = tuple(dict.fromkeys(_Identity(fragment) for fragment in fragments))
    stack = tuple(one.fragment for one in layers)
    channels, conflicts = merge_channels(stack)
    table, wanted = gather_specs(stack), gather_requirements(stack)
    requirements, doubles = settle_owners(table.packages, wanted.requirements, stack)
    specs, contradictions = merge_specs(table)
    pip, pip_conflicts, pip_notices = merge_pip(stack, requirements)
    raise_conflicts([*conflicts, *contradictions, *pip_conflicts, *doubles])
    specs, added = _with_pip(specs, requirements)
    variables, variable_notices = merge_variables(stack)
    advice = advise(Composed(stack, {spec.name: spec for spec in specs}, pip))
    unused = unused_takeovers(stack, table.used | wanted.used)
    return EnvSpec(
        channels=channels,
        nodefaults=nodefaults_origin(stack),
        channel_priority=_priority(stack),
        specs=specs,
        pip=pip,
        variables=variables,
        virtual_packages=_virtual_packages(stack),
        tier=_last(stack, Kind.TIER),
        recipe=_last(stack, Kind.RECIPE),
        layers=stack,
        driver=_driver(stack),
        verify=_settings(stack, "verify"),
        defaults=_settings(stack, "defaults"),
        includes=tuple(dict.fromkeys(include for fragment in stack for include in fragment.includes)),
        notices=tuple(_masked(one) for one in (*added, *pip_notices, *variable_notices, *advice, *unused)),
    )


def _masked(notice: Notice) -> Notice:
    return replace(notice, message=mask(notice.message))


class _Identity:
    """A fragment as the file it is, so that one file counts once whichever way it came in."""

    def __init__(self, fragment: Fragment) -> None:
        self.fragment = fragment
        self._key = (fragment.directory, fragment.name, fragment.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _with_pip(
    specs: tuple[MergedSpec, ...], requirements: Sequence[PipRequirement]
) -> tuple[tuple[MergedSpec, ...], list[Notice]]:
    """Add conda's pip where something is installed by it and no layer asked for it."""
    if not requirements or any(spec.name == "pip" for spec in specs):
        return specs, []
    origin = requirements[0].origin
    added = MergedSpec("pip", ("pip",), (Sourced("pip", origin, "needed by the pip section"),))
    notice = Notice(
        "pip-added",
        f"pip is not among the conda dependencies though {origin} needs it; it was added",
        (origin,),
        "add `- pip` to the dependencies",
    )
    return tuple(sorted((*specs, added), key=lambda spec: spec.name)), [notice]


def _priority(fragments: Iterable[Fragment]) -> str:
    chosen = [fragment.channel_priority for fragment in fragments if fragment.channel_priority is not None]
    return chosen[-1].value if chosen else STRICT


def _virtual_packages(fragments: Iterable[Fragment]) -> tuple[tuple[str, Sourced], ...]:
    found = dict(itertools.chain.from_iterable(fragment.virtual_packages for fragment in fragments))
    return tuple(sorted(found.items()))


def _last(fragments: Sequence[Fragment], kind: Kind) -> Fragment | None:
    return next((fragment for fragment in reversed(fragments) if fragment.kind is kind), None)


def _driver(fragments: Iterable[Fragment]) -> Sourced | None:
    """Return the driver constraint: what every layer says must hold, the place is the last layer's."""
    found = [fragment.driver for fragment in fragments if fragment.driver is not None]
    if not found:
        return None
    last = found[-1]
    return Sourced(",".join(dict.fromkeys(one.value for one in found)), last.origin, last.why)


def _settings(fragments: Iterable[Fragment], name: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for fragment in fragments:
        merged = _merged_mapping(merged, fragment.settings.get(name, {}))
    return merged


def _merged_mapping(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings: mappings key by key, lists united in order, of single values the later one holds."""
    merged = dict(earlier)
    for key, value in later.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged_mapping(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            merged[key] = [*old, *(item for item in value if item not in old)]
        else:
            merged[key] = value
    return merged
