"""Keeps what conda writes away from our streams, from whichever thread, and hands it on line by line."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from conda_llmenv.redact import mask

OnLine = Callable[[str], None]

LOGGERS = ("conda", "conda_package_handling", "conda_package_streaming", "menuinst", "requests", "urllib3")
"""Loggers of conda and of what it downloads, extracts and makes shortcuts with."""


@contextlib.contextmanager
def silenced(on_line: OnLine) -> Iterator[None]:
    """Give ``on_line`` what conda and its plugins print and log meanwhile, and no keyboard to ask questions at.

    Only conda is silenced: other threads (progress, pip) go on writing to the same streams.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.StringIO()
    sys.stdout, sys.stderr = _Sorted(before[1], on_line), _Sorted(before[2], on_line)
    try:
        with _logging_to(on_line):
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


class _Sorted:
    """A stream that writes for us and listens to conda, told apart by who calls.

    Args:
        stream: the real one; everything but writing is its business.
        on_line: receives conda's lines.
    """

    def __init__(self, stream: Any, on_line: OnLine) -> None:
        self._stream = stream
        self._on_line = on_line
        self._pending = threading.local()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or hand on the lines that are complete."""
        if not _is_condas(sys._getframe(1)):  # noqa: SLF001 - the caller is the only thing that tells them apart
            return int(self._stream.write(text))
        *lines, rest = (getattr(self._pending, "text", "") + text).split("\n")
        self._pending.text = rest
        for line in lines:
            if line.strip():
                self._on_line(mask(line.rstrip()))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each of them."""
        text = "".join(lines)
        if _is_condas(sys._getframe(1)):  # noqa: SLF001 - as above
            self._on_line(mask(text.rstrip()))
        else:
            self._stream.write(text)


def _is_condas(frame: FrameType | None) -> bool:
    """Return whether conda or a plugin of it, and not this package, is nearest in a chain of callers."""
    while frame is not None:
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if top == "conda_llmenv":
            return False
        if top == "conda" or top.startswith("conda_"):
            return True
        frame = frame.f_back
    return False


class _Forward(logging.Handler):
    """Hands warnings and errors on."""

    def __init__(self, on_line: OnLine) -> None:
        super().__init__(logging.WARNING)
        self._on_line = on_line

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on the message, without its traceback."""
        self._on_line(mask(record.getMessage()))


@contextlib.contextmanager
def _logging_to(on_line: OnLine) -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [_Forward(on_line)], False
    try:
        yield
    finally:
        for logger, (handlers, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
