"""Which lines are worth looking at: one regular expression of literals that runs over raw bytes.

A search stops wherever a literal may begin, and there tries one alternative after the other. So the literals are cut to
begin with one of very few characters, and alternatives with a common beginning share it.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from conda_llmenv.diagnosis.rules import Rule, packaged_rules

_COMMON = "cCpuIAgOmFhRdETlNLsr,[]nioa_/=|te'\":-.0123456789 "
"""Characters that fill training logs, the most frequent last."""

_KEPT = 5
"""Characters that a cut literal keeps; with fewer, too many lines would be looked at for nothing."""


class Prefilter:
    """Finds where the needles of ``rules`` may be, in one pass."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        needles: dict[str, set[int]] = {}
        for number, rule in enumerate(rules):
            for needle in rule.needles:
                needles.setdefault(needle, set()).add(number)
        first = _few_characters(needles)
        keys: dict[bytes, set[int]] = {}
        for needle, numbers in needles.items():
            keys.setdefault(_cut(needle, first).encode(), set()).update(numbers)
        self._rules = {key: _of_beginnings(key, keys) for key in keys}
        self._pattern = re.compile(_alternatives(sorted(keys)) or b"(?!)")

    def search(self, text: bytes, start: int) -> tuple[int, frozenset[int]] | None:
        """Return the next place at or after ``start`` with the numbers of the rules that may apply, or None."""
        match = self._pattern.search(text, start)
        return (match.start(), self._rules[match[0]]) if match else None


@functools.cache
def packaged_prefilter() -> Prefilter:
    """Return the prefilter of the rules this package comes with; making one takes some 10 ms."""
    return Prefilter(packaged_rules())


def _beginnings(needle: str) -> str:
    """Return the characters at which a needle may be cut."""
    return needle[: max(1, len(needle) - _KEPT + 1)]


def _few_characters(needles: Iterable[str]) -> list[str]:
    """Return characters of which each needle has one to begin with: few, and rare in logs."""
    chosen, left = [], [frozenset(_beginnings(needle)) for needle in needles]
    while left:
        served = Counter(character for offered in left for character in offered)
        best = max(sorted(served), key=lambda one: served[one] / _weight(one))
        chosen.append(best)
        left = [offered for offered in left if best not in offered]
    return chosen


def _weight(character: str) -> int:
    return 8 + _COMMON.find(character) + 1


def _cut(needle: str, first: Iterable[str]) -> str:
    """Return the end of a needle from one of the characters on, the rarest in logs."""
    places = [at for at, character in enumerate(_beginnings(needle)) if character in first]
    return needle[min(places, key=lambda at: _weight(needle[at])) :]


def _of_beginnings(key: bytes, keys: Mapping[bytes, set[int]]) -> frozenset[int]:
    """Return the rules of a literal and of all that it starts with, since only the longest one is found."""
    return frozenset(number for other, numbers in keys.items() if key.startswith(other) for number in numbers)


def _alternatives(keys: Iterable[bytes]) -> bytes:
    """Return a pattern for literals, the longest first, in which common beginnings stand once."""
    rests: dict[bytes, list[bytes]] = {}
    for key in keys:
        rests.setdefault(key[:1], []).append(key[1:])
    return b"|".join(re.escape(first) + _after(rest) for first, rest in rests.items())


def _after(rests: list[bytes]) -> bytes:
    longer = [rest for rest in rests if rest]
    if not longer:
        return b""
    optional = b"?" if len(longer) < len(rests) else b""
    return b"(?:" + _alternatives(longer) + b")" + optional
