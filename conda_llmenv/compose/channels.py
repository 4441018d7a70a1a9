"""Merge channel lists: each is an order constraint, the result keeps them all (C3 linearisation).

The algorithm is the one Python uses for its method resolution order (Barrett et al., "A Monotonic Superclass
Linearization for Dylan", 1996).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from conda_llmenv.compose.conflicts import Conflict
from conda_llmenv.compose.matchspec import parse_spec
from conda_llmenv.model import Fragment, MergedChannel, Origin, Sourced

TYPED = "command line"
"""Shown as the file of what was typed."""


def merge_channels(fragments: Sequence[Fragment]) -> tuple[tuple[MergedChannel, ...], list[Conflict]]:
    """Return the channels in one order that keeps the order of every list, stable in the order of the layers.

    Channels typed on the command line come as early as the lists allow, as conda has it. A channel that only a
    ``channel::package`` spec names is searched last.
    """
    lists = [fragment.channels for fragment in _typed_first(fragments) if fragment.channels]
    named = dict.fromkeys(tuple(channel.value for channel in channels) for channels in lists)
    order, left = _linearise([list(names) for names in named])
    if left:
        return (), list(_contradictions(lists, left))
    listed = _origins(channel for fragment in fragments for channel in fragment.channels)
    implied = _origins(_channels_of_specs(fragments))
    order += [name for name in implied if name not in listed]
    return tuple(MergedChannel(name, tuple(listed.get(name) or implied[name])) for name in order), []


def nodefaults_origin(fragments: Iterable[Fragment]) -> Origin | None:
    """Return the first layer that switches the configured ``defaults`` off, or None."""
    return next((fragment.nodefaults for fragment in fragments if fragment.nodefaults is not None), None)


def _typed_first(fragments: Sequence[Fragment]) -> list[Fragment]:
    typed = [fragment for fragment in fragments if is_typed(fragment)]
    return [*typed, *(fragment for fragment in fragments if not is_typed(fragment))]


def is_typed(fragment: Fragment) -> bool:
    """Return whether a fragment stands for what was typed on the command line."""
    return fragment.origin.file == TYPED and fragment.origin.line is None


def _linearise(lists: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the merged order and what is left of the lists where they contradict each other."""
    order: list[str] = []
    left = [names for names in lists if names]
    while left:
        blocked = {name for names in left for name in names[1:]}
        head = next((names[0] for names in left if names[0] not in blocked), None)
        if head is None:
            return order, left
        order.append(head)
        left = [rest for names in left if (rest := [name for name in names if name != head])]
    return order, []


def _contradictions(lists: list[tuple[Sourced, ...]], left: list[list[str]]) -> Iterator[Conflict]:
    """Yield every pair that two files order differently; without one, the shortest circle of three or more."""
    names = {name for rest in left for name in rest}
    before: dict[tuple[str, str], Origin] = {}
    for channels in lists:
        for earlier, later in itertools.combinations([channel for channel in channels if channel.value in names], 2):
            before.setdefault((earlier.value, later.value), earlier.origin)
    pairs = [pair for pair in before if pair[0] < pair[1] and pair[::-1] in before]
    for first, second in pairs:
        yield _contradiction([first, second], before)
    if not pairs:
        yield _contradiction(_shortest_circle(names, before), before)


def _contradiction(circle: list[str], before: Mapping[tuple[str, str], Origin]) -> Conflict:
    written = list(before)
    steps = sorted(zip(circle, [*circle[1:], circle[0]], strict=True), key=written.index)
    reason = ", and ".join(f"{first} before {second}" for first, second in steps)
    sides = tuple((f"{first}, then {second}", before[first, second]) for first, second in steps)
    return Conflict("channels", sides, reason, hint="give both files the same order of these channels")


def _shortest_circle(names: set[str], before: Mapping[tuple[str, str], Origin]) -> list[str]:
    found: list[str] = []
    for start in sorted(names):
        paths = [[start]]
        seen = {start}
        while paths and (not found or len(paths[0]) < len(found)):
            path = paths.pop(0)
            if len(path) > 1 and (path[-1], start) in before:
                found = path
                break
            following = [name for name in sorted(names) if (path[-1], name) in before and name not in seen]
            seen.update(following)
            paths.extend([*path, name] for name in following)
    return found


def _channels_of_specs(fragments: Iterable[Fragment]) -> Iterator[Sourced]:
    for fragment in fragments:
        for spec in fragment.specs:
            if "::" in spec.value or "channel" in spec.value:
                channel = parse_spec(spec.value).channel
                if channel:
                    yield Sourced(channel, spec.origin)


def _origins(channels: Iterable[Sourced]) -> dict[str, dict[Origin, None]]:
    """Return for each channel the places that name it, each once, in order."""
    found: dict[str, dict[Origin, None]] = {}
    for channel in channels:
        found.setdefault(channel.value, {})[channel.origin] = None
    return found
