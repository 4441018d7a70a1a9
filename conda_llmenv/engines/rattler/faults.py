"""A failure of the library as text: what it says, and what can be read out of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from conda_llmenv.redact import mask


class Fault(Struct, frozen=True):
    """A failure of the library as text.

    Attributes:
        text: everything it said, one cause a line, secrets masked.
        package: the package it was about, such as ``numpy-2.2.6-py311_0.conda``; may be empty.
        url: the address it was about, secrets masked; may be empty.
        prefix: where an installation works; None while solving.
    """

    text: str
    package: str = ""
    url: str = ""
    prefix: Path | None = None

    @property
    def causes(self) -> tuple[str, ...]:
        """Its lines without the library's preamble."""
        lines = (line.removeprefix("Caused by: ").strip() for line in self.text.splitlines())
        return tuple(dict.fromkeys(line for line in lines if line and "package cache layer" not in line))


def masked(error: BaseException) -> str:
    """Return the text of an error without secrets, and take them from the error too: a traceback prints it as cause."""
    text = mask(str(error))
    error.args = (text,)
    return text


def is_panic(error: BaseException) -> bool:
    """Return whether this is a failed assertion inside the library, which is no ``Exception``."""
    return type(error).__name__ == "PanicException"


def path_of(error: OSError) -> Path | None:
    """Return what the system refused."""
    return Path(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else None


def os_error(text: str) -> int:
    """Return the number of the system's refusal in a text; 0 where there is none."""
    match = re.search(r"os error (\d+)", text)
    return int(match[1]) if match else 0


def url_in(text: str) -> str:
    """Return the first address in a text, or nothing."""
    match = re.search(r"(?:https?|file)://[^\s'\")]+", text)
    return match[0] if match else ""


def path_in(text: str) -> Path | None:
    """Return the first quoted absolute path in a text."""
    match = re.search(r"[`'\"](/[^`'\"]+)[`'\"]", text)
    return Path(match[1]) if match else None
