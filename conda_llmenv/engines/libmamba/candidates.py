"""Which records libmamba may choose from: channels named in specs, channel priority and dates, decided on the records.

libmamba has these rules too, with other meanings: to it a strict priority also hides the channel that a spec names, and
a record without a date is old enough for any cut-off. Decided here, a rule means the same with each of its versions.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from conda_llmenv.engines.libmamba.convert import Candidate, Wanted
from conda_llmenv.errors import Unsatisfiable
from conda_llmenv.redact import mask


class Admitted(Struct, frozen=True):
    """The candidates that are left, in a fixed order, and what strict channel priority took candidates from."""

    candidates: tuple[Candidate, ...]
    hidden: frozenset[str]


def admit(
    found: Iterable[Candidate],
    wanted: Sequence[Wanted],
    *,
    order: Sequence[str],
    priority: str,
    cutoff: dt.datetime | None,
) -> Admitted:
    """Return the candidates that the rules leave: first channel first, and of each package the newest first.

    That order decides where libmamba sees no difference; it counts time in seconds.
    A channel counts for strict priority as soon as it has the name, in whichever version and of whichever date. Without
    priority, a build that several channels have comes from the first of them.

    Args:
        found: of all channels, in any order.
        wanted: specs and constraints.
        order: base URLs of the channels, highest priority first.
        priority: ``strict``, ``flexible`` or ``disabled``.
        cutoff: ignore what is newer, and what has no date.

    Raises:
        Unsatisfiable: two specs want one package from different channels.
    """
    rank = {channel: index for index, channel in enumerate(order)}
    home = _named_channels(wanted)
    named = [one for one in found if home.get(one.name, one.channel) == one.channel]
    named.sort(key=lambda one: (rank[one.channel], one.subdir, one.name, _age(one), one.file_name))
    first = _first(named, lambda one: one.name) if priority == "strict" else {}
    visible = [one for one in named if first.get(one.name, one.channel) == one.channel]
    hidden = frozenset(one.name for one in named if first.get(one.name, one.channel) != one.channel)
    if priority == "disabled":
        same = _first(visible, _build)
        visible = [one for one in visible if same[_build(one)] == one.channel]
    rules = {name: [one for one in wanted if one.name == name] for name in {one.name for one in wanted}}
    kept = (one for one in visible if all(rule.takes(one) for rule in rules.get(one.name, ())))
    return Admitted(tuple(one for one in kept if _old_enough(one, cutoff)), hidden)


def _named_channels(wanted: Iterable[Wanted]) -> Mapping[str, str]:
    home: dict[str, str] = {}
    for one in wanted:
        if one.channel is not None and home.setdefault(one.name, one.channel) != one.channel:
            raise Unsatisfiable(
                f"{one.name} cannot come from two channels",
                packages=(one.name,),
                details=(mask(home[one.name]), mask(one.channel)),
                hint="name one channel in the specs of a package",
            )
    return home


def _first(candidates: Iterable[Candidate], trait: Callable[[Candidate], str]) -> Mapping[str, str]:
    """Return for each trait the channel of the first candidate that has it."""
    first: dict[str, str] = {}
    for one in candidates:
        first.setdefault(trait(one), one.channel)
    return first


def _age(one: Candidate) -> float:
    return -one.timestamp.timestamp() if one.timestamp is not None else 0.0


def _build(one: Candidate) -> str:
    return f"{one.subdir}/{one.file_name.removesuffix('.conda').removesuffix('.tar.bz2')}"


def _old_enough(one: Candidate, cutoff: dt.datetime | None) -> bool:
    return cutoff is None or (one.timestamp is not None and one.timestamp <= cutoff)
