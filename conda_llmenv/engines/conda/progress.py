"""What conda takes for its own display: bars that report to us, and everything else silent."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from conda.plugins.types import ReporterRendererBase


class Bar:
    """A progress bar.

    Args:
        update_to: receives the fraction that is done, from any thread.
    """

    def __init__(self, update_to: Callable[[float], None] = lambda _: None) -> None:
        self.update_to = update_to

    def refresh(self) -> None:
        """Draw nothing."""

    def finish(self) -> None:
        """Draw nothing; before this conda has said that all of it is there."""

    def close(self) -> None:
        """Draw nothing."""


class Renderer(ReporterRendererBase):  # type: ignore[misc]  # conda has no types where it is absent
    """Shows nothing and asks nothing."""

    def detail_view(self, data: Any, **_: Any) -> str:
        """Show nothing of a table."""
        return ""

    def envs_list(self, data: Any, **_: Any) -> str:
        """Show nothing of a list of environments."""
        return ""

    def progress_bar(self, description: str, **_: Any) -> Bar:
        """Return a bar that nobody sees."""
        return Bar()

    def spinner(self, message: str, failed_message: str = "") -> contextlib.AbstractContextManager[None]:
        """Return a spinner that does not spin."""
        return contextlib.nullcontext()

    def prompt(self, message: str = "", choices: Any = (), default: str = "yes") -> str:
        """Take the default."""
        return default
