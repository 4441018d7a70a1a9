"""What the ranks of each world size saw, and which of them stand out."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from conda_llmenv.checks.scene import Scene
from conda_llmenv.checks.units import counted
from conda_llmenv.model import Finding, Status


class World(Struct, frozen=True):
    """One launch.

    Attributes:
        size: the number of ranks.
        backend: ``nccl`` or ``gloo``.
        ranks: rank to what it saw.
    """

    size: int
    backend: str
    ranks: Mapping[int, Mapping[str, Any]]

    @property
    def words(self) -> str:
        """Such as ``2 ranks``."""
        return counted(self.size, "rank")

    def named(self, ranks: Collection[int]) -> str:
        """Return these ranks in words: ``rank 1 of 2``, ``ranks 1 and 3 of 4``, ``each of 2 ranks``."""
        if len(ranks) == self.size:
            return f"each of {self.words}" if self.size > 1 else "the only rank"
        *others, last = (str(rank) for rank in sorted(ranks))
        return f"ranks {', '.join(others)} and {last} of {self.size}" if others else f"rank {last} of {self.size}"

    def odd(self, told: Mapping[int, Hashable]) -> tuple[int, ...]:
        """Return the ranks that differ from most; from rank 0 where no value has a majority."""
        counted = Counter(told.values())
        first = told[min(told)]
        usual = max(counted, key=lambda value: (counted[value], value == first))
        return tuple(rank for rank, value in sorted(told.items()) if value != usual)


class Problem(Struct, frozen=True):
    """One thing that is wrong: a sentence, the values that show it, and the next step."""

    sentence: str
    measured: str = ""
    expected: str = ""
    fix: str = ""


def worlds(scene: Scene, check: str) -> tuple[World, ...]:
    """Return what was seen for a check by world size, ascending."""
    found: dict[int, dict[int, Mapping[str, Any]]] = {}
    for one in scene.every(check):
        found.setdefault(int(one.values["world"]), {})[one.rank] = one.values
    return tuple(
        World(size, next(iter(ranks.values()))["backend"], dict(sorted(ranks.items())))
        for size, ranks in sorted(found.items())
    )


def sizes(found: Sequence[World]) -> str:
    """Return the world sizes in words: ``2 and 4 ranks (gloo)``."""
    *others, last = (str(world.size) for world in found)
    counted = f"{', '.join(others)} and {last} ranks" if others else found[0].words
    return f"{counted} ({found[0].backend})"


def failed(problems: Sequence[Problem], scene: Scene, detail: Iterable[str] = ()) -> Finding:
    """Return the finding of the first problem, with the others and further facts as its detail."""
    first, *others = problems
    more = f" (and {len(others)} more)" if others else ""
    lines = (*(problem.sentence for problem in others), *detail)
    fix = first.fix or unchanged_files(scene)
    return Finding(Status.FAIL, first.sentence + more, first.measured, first.expected, fix, lines)


def unchanged_files(scene: Scene) -> str:
    """Return the command that tells whether something in the environment was changed since it was made."""
    prefix = shlex.quote(scene.prefix)
    return f"`llmenv verify -p {prefix} --integrity` names files that were changed or added after the installation"
