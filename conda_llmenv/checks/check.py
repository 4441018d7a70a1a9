"""What a check is: an id, a place on the ladder, the probe that looks for it, and the pure function that judges."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level

PYTHON = "python"
"""The check of the Python that every probe runs in."""

Judge = Callable[[Scene], Finding]
"""What was seen, to what it comes to. Only called where the probe has an observation without an error."""


class Check(Struct, frozen=True):
    """One check of the ladder.

    Attributes:
        id: stable kebab-case name, the one of ``--only``.
        title: what is right when it passes, in a few words.
        group: the line of the report it stands in.
        level: the lowest level that runs it.
        judge: see :data:`Judge`.
        fix: the next step where the finding names none; ``{prefix}`` in it stands for the environment.
        probe: module in ``probes/inside`` that observes it; an empty string where :class:`Scene` holds all of it.
        reads: the check whose observation is judged; its own where this is empty.
        needs: ids of checks that must not have failed; it is skipped where one has.
        timeout: seconds its part of a probe may take.
        gpu: it is about a GPU: skipped where the machine has none.
        torch: it needs torch: skipped where the environment has none.
    """

    id: str
    title: str
    group: str
    level: Level
    judge: Judge
    fix: str = ""
    probe: str = ""
    reads: str = ""
    needs: tuple[str, ...] = ()
    timeout: float = 30.0
    gpu: bool = False
    torch: bool = False

    @property
    def everything_needed(self) -> tuple[str, ...]:
        """What it needs, the Python that its probe runs in included."""
        return self.needs if not self.probe or self.id == PYTHON else (PYTHON, *self.needs)

    @property
    def observed(self) -> str:
        """The id under which its observation is filed."""
        return self.reads or self.id
