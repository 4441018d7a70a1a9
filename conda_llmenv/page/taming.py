"""Make the output of foreign programs fit to be read: no control characters, no endless lines, no secrets."""

from __future__ import annotations

import re
import unicodedata

from conda_llmenv.redact import mask

LONGEST_LINE = 1000
"""Characters of a line that are shown; some thirty lines on a phone."""

MOST_LINES = 200
"""Lines of one text that are shown."""

_TERMINAL = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,1000}(?:\x07|\x1b\\))")
"""What colours a terminal, moves its cursor or sets its title (ECMA-48)."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co"})
"""Unicode categories that show nothing themselves: controls, direction marks, lone surrogates, private characters."""

_LINE_ENDS = re.compile(r"\r\n|[\r\n\x0b\x0c\x85\u2028\u2029]")


def tamed(text: str) -> str:
    """Return text with every character visible, its secrets masked, and long lines and long texts cut with a word.

    What hides is taken out before secrets are looked for: a colour code before a token would let it pass.
    """
    if text.isascii() and text.isprintable() and len(text) <= LONGEST_LINE:
        return mask(text)
    plain = _LINE_ENDS.sub("\n", _TERMINAL.sub("", text))
    return _cut(mask("".join(map(_visible, plain))))


def _visible(character: str) -> str:
    """Return a character, or the picture of one that has no look of its own."""
    if character in "\n\t" or unicodedata.category(character) not in _HIDDEN:
        return character
    return chr(0x2400 + ord(character)) if character < " " else "\N{REPLACEMENT CHARACTER}"


def _cut(text: str) -> str:
    lines = text.split("\n")
    shown = [_shortened(line) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"… and {len(lines) - MOST_LINES:,} more lines")
    return "\n".join(shown)


def _shortened(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} … and {len(line) - LONGEST_LINE:,} more characters"
