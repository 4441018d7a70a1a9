"""What was found in a log, and which of it explains the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from conda_llmenv.diagnosis.rules import ANYTHING, Rule


class Fault(Struct):
    """One fault that a log shows.

    Attributes:
        rule: what is known of it.
        line, text: where it was seen first, and that line, masked and shortened.
        groups: what the named groups of the rule's pattern found there.
        count: lines that show it.
        last: the last of them.
        ranks: the ranks that wrote them.
    """

    rule: Rule
    line: int
    text: str
    groups: Mapping[str, str]
    count: int
    last: int
    ranks: set[int]

    @property
    def symptom(self) -> str:
        """What one sees."""
        return self._filled(self.rule.symptom)

    @property
    def cause(self) -> str:
        """Why."""
        return self._filled(self.rule.cause)

    @property
    def action(self) -> str:
        """What to do."""
        return self._filled(self.rule.action)

    def _filled(self, sentence: str) -> str:
        return sentence.format_map({**self.rule.otherwise, **self.groups})


class Explained(Struct, frozen=True):
    """A fault with what it is a consequence of, None for a root."""

    fault: Fault
    because: Fault | None


def ordered(faults: Iterable[Fault]) -> tuple[Explained, ...]:
    """Return the faults: the roots, then their consequences as the log has them.

    Among roots, what stops a run comes before what does not, then what the first failing rank wrote (as torchrun tells
    it), then what is nearer to the machine, then what was seen first.
    """
    found = sorted(faults, key=lambda one: one.line)
    first = _first_failing_rank(found)
    explained = [Explained(one, _because(one, found)) for one in found]
    roots = [one for one in explained if one.because is None]
    roots.sort(key=lambda one: (not one.fault.rule.stops, first not in {None, *one.fault.ranks}, one.fault.rule.rank))
    return (*roots, *(one for one in explained if one.because is not None))


def _first_failing_rank(faults: Sequence[Fault]) -> int | None:
    ranks = [one.groups["first_rank"] for one in faults if "first_rank" in one.groups]
    return int(ranks[0]) if ranks else None


def _because(fault: Fault, faults: Sequence[Fault]) -> Fault | None:
    """Return what explains a fault: the root that was seen last before it, or else the first one after it.

    Output of several ranks is not in the order of events, so a cause may stand below its consequence.
    """
    causes = [one for one in faults if _explains(one, fault)]
    before = [one for one in causes if one.line <= fault.line]
    nearest = max(before, key=lambda one: one.line) if before else min(causes, key=lambda one: one.line, default=None)
    return nearest and (_because(nearest, faults) or nearest)


def _explains(cause: Fault, fault: Fault) -> bool:
    if cause.rule.rank >= fault.rule.rank:
        return False
    return cause.rule.id in fault.rule.follows or (ANYTHING in fault.rule.follows and cause.rule.stops)
