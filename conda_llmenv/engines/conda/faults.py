"""conda's failures taken apart: what they contain, what they say, and which signal or disk is behind them."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from conda import CondaError, CondaMultiError
from conda import exceptions as condas
from msgspec import Struct

from conda_llmenv.engines.disk import DISK_FULL
from conda_llmenv.errors import LlmenvError
from conda_llmenv.redact import mask

BRIEF = 3
"""Lines of a failure that are shown without being cut."""


@contextlib.contextmanager
def translated(translate: Callable[[list[BaseException]], LlmenvError]) -> Iterator[None]:
    """Raise what ``translate`` makes of a failure, without the original: its texts may carry credentials.

    Signals and our own failures pass; conda wraps both.
    """
    try:
        yield
    except (LlmenvError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - conda ends with SystemExit, and its solvers may panic
        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            if isinstance(cause, condas.CondaSignalInterrupt):
                _signal_again(cause)
        ours = next((cause for cause in causes if isinstance(cause, LlmenvError)), None)
        raise ours or translate(causes) from None


def _causes(error: object) -> Iterator[BaseException]:
    """Yield the failures inside one of conda's, which may be lists of lists; the first is the reason."""
    if isinstance(error, CondaMultiError):
        found = [cause for inner in error.errors for cause in _causes(inner)]
        yield from found or [CondaError("conda's work was cancelled")]
    elif isinstance(error, (tuple, list)):
        for inner in error:
            yield from _causes(inner)
    elif isinstance(error, BaseException):
        yield error


def _signal_again(error: Any) -> None:
    """Let a signal that conda took for itself reach whoever listens for it here; its handlers are gone by now."""
    signal.raise_signal(error.dump_map()["signum"])
    raise KeyboardInterrupt from None


class Fault(Struct, frozen=True):
    """A failure as text, secrets masked.

    Attributes:
        lines: what it said, without blank lines.
        reason: what was behind it, in a line; empty for nothing.
        facts: what conda attached to it, such as ``url`` and ``status_code``.
    """

    lines: tuple[str, ...]
    reason: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, error: BaseException) -> Fault:
        """Describe a failure of whichever class."""
        *_, last = _chain(error)
        lines = _lines(error) or (type(error).__name__,)
        reason = " ".join(_lines(last)) if last is not error else ""
        return cls(lines, reason, _facts(error))

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join((*self.lines, self.reason))

    @property
    def brief(self) -> tuple[str, ...]:
        """The first line of many, since the rest is advice, and what was behind it."""
        shown = self.lines if len(self.lines) <= BRIEF else self.lines[:1]
        return (*shown, *((self.reason,) if self.reason else ()))


def _lines(error: BaseException) -> tuple[str, ...]:
    stripped = (line.strip() for line in mask(str(error)).splitlines())
    return tuple(dict.fromkeys(line for line in stripped if line))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen:
        seen.append(following)
        yield following
        following = getattr(following, "_caused_by", None) or following.__cause__


def _facts(error: BaseException) -> dict[str, Any]:
    return dict(error.dump_map()) if isinstance(error, CondaError) else {}


def os_error(error: BaseException, fault: Fault) -> int:
    """Return the error number of the operating system behind a failure, 0 for none."""
    if isinstance(error, condas.NoSpaceLeftError):
        return DISK_FULL[0]
    for one in _chain(error):
        if isinstance(one, OSError) and isinstance(one.errno, int):
            return one.errno
    noted = fault.facts.get("errno")
    if isinstance(noted, int):
        return noted
    match = re.search(r"(?:os error |\[Errno )(\d+)", fault.text)
    return int(match[1]) if match else 0


def path_of(error: BaseException, fault: Fault) -> Path | None:
    """Return the file or folder that a failure is about, if it says so."""
    found = getattr(error, "filename", None) or fault.facts.get("path") or fault.facts.get("target_path")
    return Path(str(found)) if found else None
