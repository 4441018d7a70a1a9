"""TOML: reading with the line of each table of an array, and writing of values."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from msgspec import Struct

from conda_llmenv.compose.problems import Unreadable

MAX_CHARACTERS = 16_000_000
"""Longest text read; a lock of a thousand distributions with every wheel of each has a quarter of that."""

loads: Callable[[str], dict[str, Any]] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads
"""Parse a TOML text with the standard library's reader, or its backport on Python 3.10; raises :class:`ValueError`."""

_PLACE = re.compile(r"\s*\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlText(Struct, frozen=True):
    """What a text says, and its lines."""

    data: Mapping[str, Any]
    lines: Sequence[str]

    def starts(self, array: str, count: int) -> tuple[int, ...]:
        """Return the 1-based line that each of the ``count`` tables of an array starts at.

        Where the tables do not have headers of their own, it is the line of the array's key for all of them.
        """
        header = re.compile(rf"\s*\[\[\s*{re.escape(array)}\s*\]\]")
        found = tuple(number for number, line in enumerate(self.lines, start=1) if header.match(line))
        return found if len(found) == count else (self.line_of(array),) * count

    def line_of(self, text: str, start: int = 1) -> int:
        """Return the first 1-based line from ``start`` on that holds a text, or ``start`` itself."""
        found = (number for number, line in enumerate(self.lines[start - 1 :], start=start) if text in line)
        return next(found, start)


def read_toml(text: str) -> TomlText:
    """Take a TOML text apart.

    Raises:
        Unreadable: it is none, is nested too deep or too long; with its line.
    """
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"longer than {MAX_CHARACTERS:,} characters", line=1)
    try:
        data = loads(text)
    except RecursionError:
        raise Unreadable("nested too deep", line=1) from None
    except ValueError as error:
        raise _located(error, text) from error
    return TomlText(data, text.split("\n"))


def _located(error: ValueError, text: str) -> Unreadable:
    reason = str(error)
    place = _PLACE.search(reason)
    end = max(1, len(text.rstrip().split("\n")))
    line = int(place["line"]) if place and place["line"] else end
    column = int(place["column"]) if place and place["column"] else None
    return Unreadable(f"not valid TOML: {_PLACE.sub('', reason)}", line=line, column=column)


def written(value: Any) -> str:
    """Return a string, number, truth value, list or mapping as TOML in one line."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {written(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return json.dumps(value)


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else written(text)
