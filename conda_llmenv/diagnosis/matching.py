"""Lines against rules: what each line shows, what several show together, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from conda_llmenv.diagnosis.excerpts import Excerpt, Extent, excerpts
from conda_llmenv.diagnosis.faults import Explained, Fault, ordered
from conda_llmenv.diagnosis.labels import rank_of
from conda_llmenv.diagnosis.prefilter import Prefilter
from conda_llmenv.diagnosis.rules import LineSequence, Rule, compiled
from conda_llmenv.redact import mask

SHOWN, LEAD, VALUE = 200, 60, 120
"""Characters shown of a line, those before the text that was found, and those kept of a value."""

EACH = 8
"""Faults of one rule that are told apart; more are counted with the first."""

_SOURCE = re.compile(r"^(?:\[\w{1,16}\]:)?\s*raise [\w.]{1,80}\(")
"""A line of a program in a traceback; the text it raises comes once more, as the last line."""

_SIZE = re.compile(r"(?P<number>\d{1,9}(?:\.\d{1,4})?) ?(?P<unit>bytes|KiB|MiB|GiB|TiB)")
_UNITS = {"bytes": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}


class Diagnosis(Struct, frozen=True):
    """What a log shows, roots first; the first error in it that no rule knows; and how much was read."""

    faults: tuple[Explained, ...]
    unknown: Fault | None
    extent: Extent


class Match(NamedTuple):
    """A rule that applies: what its groups found, and the pattern that found it on this line."""

    groups: Mapping[str, str]
    pattern: str


class Progress(NamedTuple):
    """How far a sequence has come in the output of one rank."""

    part: int
    line: int
    groups: Mapping[str, str]


_NOTHING = Progress(0, 0, {})


def read_log(chunks: Iterable[bytes], prefilter: Prefilter) -> Diagnosis:
    """Return what a log shows; it is read once, in pieces, and memory does not grow with it."""
    extent, matcher = Extent(), Matcher(prefilter.rules)
    for excerpt in excerpts(chunks, prefilter, extent):
        matcher.look(excerpt)
    known = [one for one in matcher.faults.values() if not one.rule.unknown]
    unknown = next((one for one in matcher.faults.values() if one.rule.unknown), None)
    return Diagnosis(ordered(known), unknown, extent)


class Matcher:
    """Collects what the lines of one log show."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.faults: dict[tuple[str, str], Fault] = {}
        self._rules = rules
        self._ranks: set[int] = set()
        self._progress: dict[tuple[str, int, int | None], Progress] = {}

    def look(self, excerpt: Excerpt) -> None:
        """Note what a line shows; general rules are asked only where no other one knows it."""
        rank = rank_of(excerpt.text)
        if rank is not None:
            self._ranks.add(rank)
        if _SOURCE.match(excerpt.text):
            return
        known = False
        for rule in (self._rules[number] for number in sorted(excerpt.rules)):
            if rule.general and known:
                break
            match = self._match(rule, excerpt, rank)
            if match is not None:
                known = True
                self._note(rule, match, excerpt, rank)

    def _match(self, rule: Rule, excerpt: Excerpt, rank: int | None) -> Match | None:
        for number, pattern in enumerate(rule.patterns):
            if isinstance(pattern, LineSequence):
                match = self._next_part(pattern, (rule.id, number, rank), excerpt)
            else:
                match = _single(pattern, excerpt.text)
            if match is not None and _is_large_enough(rule, match.groups):
                return match
        return None

    def _next_part(self, pattern: LineSequence, key: tuple[str, int, int | None], excerpt: Excerpt) -> Match | None:
        """Return the match of the last part of a sequence, once all before it were seen in the same rank's lines."""
        reach = pattern.within * max(1, len(self._ranks))
        state = self._progress.get(key, _NOTHING)
        if excerpt.line - state.line > reach:
            state = _NOTHING
        part = _single(pattern.sequence[state.part], excerpt.text)
        if part is None and state.part > 0:
            state = _NOTHING
            part = _single(pattern.sequence[0], excerpt.text)
        if part is None:
            return None
        groups = {**state.groups, **part.groups}
        if state.part + 1 < len(pattern.sequence):
            self._progress[key] = Progress(state.part + 1, excerpt.line, groups)
            return None
        del self._progress[key]
        return Match(groups, part.pattern)

    def _note(self, rule: Rule, match: Match, excerpt: Excerpt, rank: int | None) -> None:
        key = (rule.id, match.groups.get(rule.each, "") if rule.each else "")
        if key not in self.faults and sum(known == rule.id for known, _ in self.faults) >= EACH:
            key = next(known for known in self.faults if known[0] == rule.id)
        fault = self.faults.get(key)
        if fault is None:
            shown = _shown(excerpt.text, match.pattern)
            fault = self.faults[key] = Fault(rule, excerpt.line, shown, {}, 0, 0, set())
        if match.groups.keys() - fault.groups.keys():  # another pattern of the rule may tell more than the first
            told = {name: _cut(_printable(mask(value)), VALUE) for name, value in match.groups.items()}
            fault.groups = {**told, **fault.groups}
        if fault.last != excerpt.line:
            fault.count += 1
            fault.last = excerpt.line
        if rank is not None:
            fault.ranks.add(rank)


def _single(pattern: str, text: str) -> Match | None:
    match = compiled(pattern).search(text)
    if match is None:
        return None
    return Match({name: value for name, value in match.groupdict().items() if value is not None}, pattern)


def _is_large_enough(rule: Rule, groups: Mapping[str, str]) -> bool:
    if not rule.at_least:
        return True
    left, right = (_size(expression, groups) for expression in rule.at_least)
    return left >= right


def _size(expression: str, groups: Mapping[str, str]) -> float:
    """Return the bytes of groups added and subtracted; one that was not found counts nothing."""
    sign, total = 1, 0.0
    for word in expression.split():
        if word in {"+", "-"}:
            sign = 1 if word == "+" else -1
        else:
            total += sign * _bytes(groups.get(word, ""))
    return total


def _bytes(text: str) -> float:
    match = _SIZE.search(text)
    return float(match["number"]) * _UNITS[match["unit"]] if match else 0.0


def _shown(text: str, pattern: str) -> str:
    """Return the part of a line that is printed: masked as a whole first, since half a secret is not recognised."""
    masked = _printable(mask(text)).strip()
    match = compiled(pattern).search(masked)
    start = match.start() if match else 0
    if start <= SHOWN - LEAD:
        return _cut(masked, SHOWN)
    return "…" + _cut(masked[start - LEAD :], SHOWN)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " if character == "\t" else "?" for character in text)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"
