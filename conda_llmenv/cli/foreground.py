"""Commands that run until somebody stops them: Ctrl-C is their ordinary end."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress

from conda_llmenv.cli import console
from conda_llmenv.errors import LlmenvError
from conda_llmenv.page.taming import tamed


def until_stopped(work: Callable[[], int], stopped: str) -> int:
    """Return what the work returns, 0 after Ctrl-C, and 128+N after another signal that asks for the end.

    Args:
        work: is left by an exception when a signal comes; what it has started ends with it.
        stopped: what is said then.
    """
    from conda_llmenv.cli.wiring import signals_as_exceptions
    from conda_llmenv.prefix.signals import Signalled

    try:
        with signals_as_exceptions():
            return work()
    except Signalled as signalled:
        say(stopped)
        return 0 if signalled.number == signal.SIGINT else 128 + signalled.number


def say_failure(failure: LlmenvError) -> None:
    """Print a failure to stderr where standard output belongs to a document that is out already."""
    say("\n  ".join([f"error: {failure.message}", *map(tamed, failure.details)]))
    if failure.hint:
        say(f"hint: {failure.hint}")


def say(text: str) -> None:
    """Print a line to stderr; the work goes on when the terminal is gone."""
    with suppress(OSError, ValueError):
        console.say(text)
