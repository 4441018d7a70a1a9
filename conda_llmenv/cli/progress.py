"""Reporters: one progress display on a terminal, one line a stage elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from conda_llmenv.cli import console
from conda_llmenv.model import Notice
from conda_llmenv.ports import Reporter
from conda_llmenv.redact import mask

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

TITLES = {
    "solve": "solve",
    "download": "download",
    "link": "link",
    "pip": "pip install",
    "check": "verify",
}
"""Stages that are shown, and what they are called."""

BYTE_STAGES = frozenset({"download"})
"""Stages that count bytes rather than packages."""

SHOWN_LINES = frozenset({"pip"})
"""Stages whose tool output a person wants to see as it comes."""


class Display(Reporter, Protocol):
    """A reporter that is open for the length of a command."""

    def __enter__(self) -> Any:
        """Start drawing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Stop drawing."""


class Quiet:
    """Says nothing but warnings."""

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Ignore it."""

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Ignore it."""

    def finish(self, stage: str, detail: str = "") -> None:
        """Ignore it."""

    def line(self, stage: str, text: str) -> None:
        """Ignore it."""

    def notice(self, notice: Notice) -> None:
        """Print the warning."""
        console.warn(notice)

    def __enter__(self) -> Quiet:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing open."""


LOGGED = frozenset({"download", "link", "pip"})
"""Stages worth a line in a log; the report itself tells about the others."""


class Lines(Quiet):
    """One line to stderr when a stage ends: what a log file of a batch job should hold."""

    def __init__(self) -> None:
        self._started: dict[str, float] = {}
        self._totals: dict[str, int | None] = {}

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Remember when the stage began."""
        self._started[stage] = time.monotonic()
        self._totals[stage] = total

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Remember the newest total."""
        self._totals[stage] = total if total is not None else self._totals.get(stage)

    def finish(self, stage: str, detail: str = "") -> None:
        """Print the stage with its size and seconds."""
        if stage not in self._started or stage not in LOGGED:
            return
        total = self._totals.get(stage)
        size = "" if total is None else (f"{total / 1e6:.1f} MB, " if stage in BYTE_STAGES else f"{total}, ")
        console.say(f"{TITLES[stage]}: {size}{time.monotonic() - self._started.pop(stage):.1f} s")

    def line(self, stage: str, text: str) -> None:
        """Print output that a person waits for."""
        if stage in SHOWN_LINES:
            console.say(f"  {text}")


class Bars(Quiet):
    """One live display for all stages, drawn with rich on a terminal while a stage is at work and gone in between."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, TaskID] = {}
        self._progress: Progress = _progress()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back, also from the middle of a stage."""
        with self._lock:
            self._clear()

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Add a bar."""
        with self._lock:
            if stage in TITLES and stage not in self._tasks:
                self._progress.start()
                self._tasks[stage] = self._progress.add_task(TITLES[stage], total=total, count=_count(stage, 0, total))

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Move a bar."""
        with self._lock:
            if stage in self._tasks:
                self._progress.update(self._tasks[stage], completed=done, total=total, count=_count(stage, done, total))

    def finish(self, stage: str, detail: str = "") -> None:
        """Take a bar away; with the last one the display goes, so that what is printed next has the terminal alone."""
        with self._lock:
            if stage in self._tasks:
                self._progress.remove_task(self._tasks.pop(stage))
                if not self._tasks:
                    self._clear()

    def line(self, stage: str, text: str) -> None:
        """Print output above the bars."""
        if stage in SHOWN_LINES:
            self._above(f"  {text}")

    def notice(self, notice: Notice) -> None:
        """Print a warning above the bars."""
        self._above("\n".join(console.warning_lines(notice)))

    def _above(self, text: str) -> None:
        self._progress.console.print(mask(text), markup=False, highlight=False, soft_wrap=True)

    def _clear(self) -> None:
        for task in self._tasks.values():
            self._progress.remove_task(task)
        self._tasks.clear()
        self._progress.stop()


def _count(stage: str, done: int, total: int | None) -> str:
    if total is None:
        return ""
    return f"{done / 1e6:.0f}/{total / 1e6:.0f} MB" if stage in BYTE_STAGES else f"{done}/{total}"


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<13}"),
        BarColumn(),
        TextColumn("{task.fields[count]:>14}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def display(*, quiet: bool, as_json: bool) -> Display:
    """Return the reporter that fits where stderr goes."""
    if quiet or as_json:
        return Quiet()
    return Bars() if console.is_terminal(sys.stderr) else Lines()
