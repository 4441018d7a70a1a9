"""Collect every mistake of one file, then report them together."""

from __future__ import annotations

from msgspec import Struct

from conda_llmenv.errors import FileFormatError
from conda_llmenv.model import Origin
from conda_llmenv.redact import mask

SHOWN = 50
"""Mistakes listed in one report; a file with more is summed up."""


class Unreadable(ValueError):
    """Some text is not what it should be; turned into a :class:`FileFormatError` where file and line are known.

    Args:
        text: the reason, one clause.
        hint: the next step.
        line, column: 1-based position, where the raiser knows it.
    """

    def __init__(self, text: str, *, hint: str = "", line: int | None = None, column: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint
        self.line = line
        self.column = column


class Problem(Struct, frozen=True):
    """One mistake: where it is, what is wrong and what to do."""

    origin: Origin
    column: int | None
    text: str
    hint: str = ""

    def __str__(self) -> str:
        where = self.origin.where if self.column is None else f"{self.origin.where}:{self.column}"
        return mask(f"{where}: {self.text}")


class Problems:
    """The mistakes of one file so far."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, origin: Origin, text: str, *, column: int | None = None, hint: str = "") -> None:
        """Note a mistake; the same one at the same place is kept once."""
        problem = Problem(origin, column, text, hint)
        if problem not in self._found:
            self._found.append(problem)

    def raise_if_any(self) -> None:
        """Report every mistake noted.

        Raises:
            FileFormatError: there is at least one.
        """
        if not self._found:
            return
        first, *others = self._found
        details = [str(problem) for problem in others[: SHOWN - 1]]
        if len(others) >= SHOWN:
            details.append(f"… and {len(others) - SHOWN + 1} more")
        hints = dict.fromkeys(problem.hint for problem in self._found if problem.hint)
        raise FileFormatError(
            str(first),
            details=details,
            hint=mask("; ".join(list(hints)[:3])),
            origins=[problem.origin for problem in self._found],
        )
