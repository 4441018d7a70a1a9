"""Which records libmamba may choose from: channels named in specs, channel priority and dates, decided on the records.

libmamba has these rules too, with other meanings: to it a strict priority also hides the channel that a spec names, and
a record without a date is old enough for any cut-off. Decided here, a rule means the same with each of its versions.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence

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
    strict: bool,
    cutoff: dt.datetime | None,
) -> Admitted:
    """Return the candidates that the rules leave.

    A channel counts for strict priority as soon as it has the name, in whichever version and of whichever date.

    Args:
        found: of all channels, in any order.
        wanted: specs and constraints.
        order: base URLs of the channels, highest priority first.
        strict: whether the first channel that has a name hides the others.
        cutoff: ignore what is newer, and what has no date.

    Raises:
        Unsatisfiable: two specs want one package from different channels.
    """
    home = _named_channels(wanted)
    named = [one for one in found if home.get(one.name, one.channel) == one.channel]
    first = _first_channels(named, order) if strict else {}
    visible = [one for one in named if first.get(one.name, one.channel) == one.channel]
    hidden = frozenset(one.name for one in named if first.get(one.name, one.channel) != one.channel)
    rules = {name: [one for one in wanted if one.name == name] for name in {one.name for one in wanted}}
    kept = [
        one for one in visible if _old_enough(one, cutoff) and all(rule.takes(one) for rule in rules.get(one.name, ()))
    ]
    return Admitted(tuple(sorted(kept, key=lambda one: (one.name, one.file_name, one.channel))), hidden)


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


def _first_channels(candidates: Iterable[Candidate], order: Sequence[str]) -> Mapping[str, str]:
    rank = {channel: index for index, channel in enumerate(order)}
    first: dict[str, str] = {}
    for one in candidates:
        if rank[one.channel] < rank[first.setdefault(one.name, one.channel)]:
            first[one.name] = one.channel
    return first


def _old_enough(one: Candidate, cutoff: dt.datetime | None) -> bool:
    return cutoff is None or (one.timestamp is not None and one.timestamp <= cutoff)
