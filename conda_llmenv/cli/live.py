"""A table that grows while the ladder is climbed, on a terminal; nothing elsewhere."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from conda_llmenv.cli import console
from conda_llmenv.cli.verdicts import MARKS
from conda_llmenv.model import CheckResult, Status
from conda_llmenv.pipeline.verify_tools import Unwatched, Watcher
from conda_llmenv.redact import mask

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from conda_llmenv.checks.check import Check

STYLES = {Status.PASS: "green", Status.WARN: "yellow", Status.FAIL: "red", Status.ERROR: "red", Status.SKIP: "dim"}


class LiveTable:
    """The checks that are done, and those that are looked for right now."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._done: list[CheckResult] = []
        self._waiting: tuple[str, ...] = ()

    def begin(self, checks: Sequence[Check]) -> None:
        """Ignore it: the table grows."""

    def result(self, result: CheckResult) -> None:
        """Add a line."""
        self._done.append(result)
        self._waiting = tuple(name for name in self._waiting if name != result.id)
        self._live.update(self._table())

    def stage(self, checks: Sequence[Check]) -> None:
        """Show what is looked for next."""
        self._waiting = tuple(check.id for check in checks)
        self._live.update(self._table())

    def _table(self) -> Table:
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        for result in self._done[-_room() :]:
            mark = Text(MARKS[result.status], style=STYLES[result.status])
            table.add_row(mark, result.id, Text(mask(result.finding.summary), overflow="ellipsis", no_wrap=True))
        if self._waiting:
            table.add_row(Spinner("dots"), ", ".join(self._waiting), "")
        return table


def _room() -> int:
    return max(4, shutil.get_terminal_size().lines - 3)


@contextlib.contextmanager
def live_table(*, shown: bool) -> Iterator[Watcher]:
    """Open the display; it is gone when the block ends, so that the report has the terminal alone.

    A pipe gets the report when it is complete, and nothing before.
    """
    if not (shown and console.is_terminal(sys.stderr)):
        yield Unwatched()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as live:
        yield LiveTable(live)
