"""What is wrong with a lockfile, collected while it is read and reported at once."""

from __future__ import annotations

from conda_llmenv.compose.problems import Problems, Unreadable
from conda_llmenv.model import Origin
from conda_llmenv.redact import has_placeholder

MOST = 200
"""After so many mistakes a file is given up: it is something else."""

PLACEHOLDER = "a placeholder stands where the token was"


class Mistakes:
    """The mistakes of one lockfile so far.

    Args:
        display: the file's path as shown in messages.
    """

    def __init__(self, display: str) -> None:
        self._display = display
        self._problems = Problems()
        self._number = 0

    def problem(self, line: int | None, text: str, *, column: int | None = None, hint: str = "") -> None:
        """Note a mistake at a line.

        Raises:
            FileFormatError: there are too many.
        """
        self._problems.add(Origin(self._display, line or 1), text, column=column, hint=hint)
        self._number += 1
        if self._number == MOST:
            self.raise_if_any()

    def unreadable(self, error: Unreadable) -> None:
        """Note why a text cannot be read at all, and report it.

        Raises:
            FileFormatError: always.
        """
        self.problem(error.line, error.text, column=error.column, hint=error.hint)
        self.raise_if_any()

    def placeholders(self, text: str, hint: str = "write ${NAME} of a variable") -> None:
        """Note every line, comments aside, that somebody's export left a placeholder in."""
        for number, line in enumerate(text.split("\n"), 1):
            if has_placeholder(line) and not line.lstrip().startswith("#"):
                self.problem(number, PLACEHOLDER, hint=hint)

    def raise_if_any(self) -> None:
        """Report every mistake noted so far.

        Raises:
            FileFormatError: there is at least one.
        """
        self._problems.raise_if_any()
