"""One solve with the library: the request as its arguments, and conda's meaning where its own differs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import rattler
from rattler.exceptions import SolverError

from conda_llmenv.engines.credentials import without_secrets
from conda_llmenv.engines.rattler import compat, convert
from conda_llmenv.engines.rattler.gateway import ask_channels
from conda_llmenv.errors import InputError
from conda_llmenv.model import Channel, SolveRequest
from conda_llmenv.redact import strip

PRIORITIES = {
    "strict": rattler.ChannelPriority.Strict,
    "flexible": rattler.ChannelPriority.Flexible,
    "disabled": rattler.ChannelPriority.Disabled,
}
"""conda's words for channel priority."""

NO_CANDIDATES = "No candidates were found for"
"""How the library begins to say that no channel has a package."""


async def solve(request: SolveRequest, client: rattler.Client | None) -> list[rattler.RepoDataRecord]:
    """Return the chosen records.

    Raises:
        InputError: a spec, the channel priority or a virtual package cannot be read.
    """
    return await ask_channels(request, client, partial(_solve_with, request))


async def _solve_with(request: SolveRequest, gateway: rattler.Gateway) -> list[rattler.RepoDataRecord]:
    """Solve, and once more where strict channel priority was passed over.

    The library leaves out records that no spec of their name matches before it ranks channels: a version that only a
    later channel has would be taken from there. To conda the first channel with the name hides the others, and that is
    what protects from a higher version planted on a public channel. Asking for the bare name as well brings all records
    back; it is done only where it changes the answer, since it also brings what those records depend on.
    """
    question = _question(request, gateway)
    try:
        found = await rattler.solve(**question)
        if request.channel_priority == "strict" and (names := await _passed_over(found, question)):
            question["specs"] += [rattler.MatchSpec(name) for name in names]
            found = await rattler.solve(**question)
    except SolverError as error:
        await _complete(error, question)
        raise
    return found


async def _complete(error: SolverError, question: dict[str, Any]) -> None:
    """Put every spec that no channel has a package for into a failure; the solver ends at the first of them."""
    named = str(error)
    if NO_CANDIDATES not in named:
        return
    for spec in question["specs"]:
        name = spec.name.normalized
        known = name.startswith("__") or f"{NO_CANDIDATES} {name} " in named
        if not known and not await _has(spec, question["sources"], question):
            named += f"\n{NO_CANDIDATES} {spec if str(spec) != name else f'{name} *'}."
    error.args = (named,)


def _question(request: SolveRequest, gateway: rattler.Gateway) -> dict[str, Any]:
    """Return the request as the library's arguments, without secrets."""
    channels = [Channel(channel.name, strip(channel.url)) for channel in request.channels]
    return {
        "sources": [rattler.Channel(channel.url) for channel in channels],
        "specs": sorted((convert.to_spec(strip(text), channels) for text in request.specs), key=_rank, reverse=True),
        "gateway": gateway,
        "platforms": [compat.subdir(name) for name in request.subdirs],
        "locked_packages": convert.from_records([without_secrets(record) for record in request.locked]),
        "virtual_packages": [convert.to_virtual(package) for package in request.virtual_packages],
        "channel_priority": to_priority(request.channel_priority),
        "exclude_newer": convert.to_cutoff(request.exclude_newer),
        "constraints": [convert.to_spec(strip(text), channels) for text in request.constraints],
        "channel_relations": "disabled",
        "add_pip_as_python_dependency": False,
        **compat.cutoff_options(),
    }


def _rank(spec: rattler.MatchSpec) -> tuple[int, str, str]:
    """Return the place of a spec, the highest first: the answer depends on the order, and this is conda's own.

    What leaves least choice comes first. Without an order of ours, that of the lines in a file would be an input.
    """
    strictness = (spec.version is not None) + (spec.build is not None)
    return strictness, spec.name.normalized, str(spec)


async def _passed_over(found: Iterable[rattler.RepoDataRecord], question: dict[str, Any]) -> list[str]:
    """Return the requested packages that an earlier channel has too, in versions that do not match."""
    asked = {spec.name.normalized for spec in question["specs"] if spec.channel is None}
    order = [source.base_url for source in question["sources"]]
    names = []
    for record in found:
        name = record.name.normalized
        earlier = question["sources"][: order.index(record.channel)] if record.channel in order else []
        if name in asked and earlier and await _has(rattler.MatchSpec(name), earlier, question):
            names.append(name)
    return names


async def _has(spec: rattler.MatchSpec, channels: Sequence[rattler.Channel], question: dict[str, Any]) -> bool:
    lists = await question["gateway"].query(
        channels, question["platforms"], [spec], recursive=False, channel_relations="disabled"
    )
    return any(lists)


def to_priority(word: str) -> rattler.ChannelPriority:
    """Return conda's word for a channel priority as the library's.

    Raises:
        InputError: it is none.
    """
    if word not in PRIORITIES:
        raise InputError(f"channel priority {word!r} is unknown", hint=f"use one of {', '.join(PRIORITIES)}")
    return PRIORITIES[word]
