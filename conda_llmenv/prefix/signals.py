"""Turn the signals that ask a program to end into one exception, and hold them back while things are put right."""

from __future__ import annotations

import os
import signal
import threading
from types import CodeType, FrameType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signalled(KeyboardInterrupt):
    """A signal asked this process to end.

    A KeyboardInterrupt, since that is what asyncio and thread pools let through unharmed.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class SignalGuard:
    """Raises :class:`Signalled` for SIGINT, SIGTERM and SIGHUP, except below certain functions.

    Only the main thread can receive signals; elsewhere, and for signals that were ignored before (``nohup``), nothing
    changes.

    Args:
        shielded: functions that must run to their end once begun. A signal that comes while one of them is on the
            stack is kept and handed out by :meth:`restore`.

    Attributes:
        received: the last signal that was raised, whatever became of the exception on its way.
    """

    def __init__(self, *shielded: Any) -> None:
        self._shielded = frozenset[CodeType](function.__code__ for function in shielded)
        self._previous: dict[signal.Signals, Any] = {}
        self._kept: int | None = None
        self.received: int | None = None

    def install(self) -> None:
        """Begin to raise."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in ENDING:
            before = signal.getsignal(number)
            if before is not None and before is not signal.SIG_IGN:
                self._previous[number] = before
                signal.signal(number, self._receive)

    def restore(self) -> int | None:
        """Put the handlers back as they were; return the number of a signal that was held back, if any."""
        for number, before in self._previous.items():
            signal.signal(number, before)
        self._previous.clear()
        kept, self._kept = self._kept, None
        return kept

    def _receive(self, number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code in self._shielded:
                self._kept = number
                return
            frame = frame.f_back
        self.received = number
        raise Signalled(number)


def deliver(number: int) -> None:
    """Send a signal that was held back to this process again."""
    os.kill(os.getpid(), number)
