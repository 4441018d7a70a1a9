"""The table of known error texts, read and checked: what a text is a sign of, why, and what to do."""

from __future__ import annotations

import functools
import pkgutil
import re

import msgspec
from msgspec import Struct

ANYTHING = "*"
"""In ``follows``: whatever else stopped the run may be what this is a consequence of."""


class LineSequence(Struct, frozen=True, forbid_unknown_fields=True):
    """Texts that mean something only together: each on a line of its own, in this order.

    Attributes:
        sequence: regular expressions.
        within: how many lines of one rank may lie between one and the next.
    """

    sequence: tuple[str, ...]
    within: int


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """One known fault, as a log shows it.

    Attributes:
        id: stable name.
        needles: literal texts; a line without any of them is not looked at for this rule.
        patterns: regular expressions, any of which shows the fault; named groups fill the sentences.
        symptom, cause, action: sentences, with ``{group}`` for what a named group found.
        check: the check of ``llmenv verify`` that confirms it, None if no check can.
        rank: how near the root, smaller is nearer; see ``ranks`` in the table.
        sources: where the text and its meaning are documented.
        otherwise: words for groups that a pattern did not find.
        each: the group that tells one fault of this rule from another, such as the library that is missing.
        general: told only where no other rule knows the line.
        unknown: what shows an error of some kind, but not which; told only where nothing is known.
        stops: whether a run ends by it; what does not stop a run is told after what does.
        at_least: two groups with sizes, such as ``2.00 GiB``, the first not the smaller one; ``a - b`` computes.
        follows: rules whose fault explains this one, or ``*``.
    """

    id: str
    needles: tuple[str, ...]
    patterns: tuple[str | LineSequence, ...]
    symptom: str
    cause: str
    action: str
    check: str | None
    rank: int
    sources: tuple[str, ...]
    otherwise: dict[str, str] = {}
    each: str = ""
    general: bool = False
    unknown: bool = False
    stops: bool = True
    at_least: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()


class _Entries(Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    ranks: dict[str, str]
    entries: tuple[Rule, ...]


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    as_of: str
    symptoms: _Entries


def read_rules(data: bytes) -> tuple[Rule, ...]:
    """Return the rules of a table, those that know more of a text before the general ones.

    Raises:
        msgspec.ValidationError: a field is missing, unknown or of another type.
    """
    return tuple(sorted(msgspec.json.decode(data, type=_Table).symptoms.entries, key=lambda rule: rule.general))


def packaged_rules() -> tuple[Rule, ...]:
    """Return the rules this package comes with."""
    return read_rules(pkgutil.get_data("conda_llmenv", "data/symptoms.json") or b"")


@functools.lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern compiled; most of the table is never needed for one log."""
    return re.compile(pattern)
