"""YAML scalars as pixi and conda-lock write them: plain where every reader sees a string, quoted elsewhere."""

from __future__ import annotations

import json
import re

_PLAIN = re.compile(r"[A-Za-z0-9_./](?:[\w./:%@+=~^<>!,*|()&;?#$\[\]-]| (?=[^\s#]))*", re.ASCII)
_NUMBER = re.compile(
    r"[-+]?[\d_]*\.?[\d_]*(?:e[-+]?\d+)?|[-+]?\d[\d_]*(?::\d+)+(?:\.\d*)?|0[xob][\da-f_]*|[-+]?\.(?:inf|nan)"
    r"|\d{4}-\d\d?-\d\d?.*",
    re.ASCII | re.IGNORECASE,
)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"})


def scalar(text: str) -> str:
    """Return text as a YAML scalar that YAML 1.1 and 1.2 both read as that text."""
    if (
        _PLAIN.fullmatch(text)
        and not _NUMBER.fullmatch(text)
        and text.lower() not in _WORDS
        and ": " not in text
        and not text.endswith((":", " "))
    ):
        return text
    return "".join(map(_escaped, json.dumps(text, ensure_ascii=False)))


def _escaped(letter: str) -> str:
    """Return a letter of a quoted scalar; what YAML would fold, drop or refuse is written by its number."""
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if letter <= "\uffff" else f"\\U{ord(letter):08x}"
