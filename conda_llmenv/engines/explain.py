"""Reads a solver's explanation of a conflict: which packages take part, and what of it a person needs."""

from __future__ import annotations

import re

LINES = 40
"""How much of an explanation is kept; what follows repeats the same for more versions."""

_TREE = "│├└─ "
_NAME = r"(?P<name>[a-z0-9_][a-z0-9_.-]*)"
_MENTIONS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^No candidates were found for {_NAME}",
        rf"^the constraint {_NAME} ",
        rf"^{_NAME} (?:\d|[*<>=!~\[])",
        # libsolv's own sentence, which conda's solver plugin for libmamba puts above the tree
        rf"^- nothing provides (?:requested )?{_NAME}",
        rf"^- nothing provides .* needed by {_NAME}-[^-\s]+-[^-\s]+$",
        rf"^- package {_NAME}-[^-\s]+-[^-\s]+ (?:requires|is excluded|has constraint|conflicts)",
        rf"^- package \S+ requires {_NAME}",
    )
)


def package_names(text: str) -> tuple[str, ...]:
    """Return the packages an explanation names, in the order of their first mention."""
    found = (pattern.match(line) for line in _lines(text) for pattern in _MENTIONS)
    return tuple(dict.fromkeys(match["name"] for match in found if match))


def conflict_lines(text: str) -> tuple[str, ...]:
    """Return the explanation without its preamble and its repetitions, cut where it becomes a listing."""
    kept: list[str] = []
    for line in _without_preamble(text).splitlines():
        if line.strip(_TREE) and (not kept or line.strip(_TREE) != kept[-1].strip(_TREE)):
            kept.append(line.rstrip())
    if len(kept) <= LINES:
        return tuple(kept)
    return (*kept[:LINES], f"… and {len(kept) - LINES} more lines of the same kind")


def _lines(text: str) -> list[str]:
    return [line.strip(_TREE) for line in _without_preamble(text).splitlines()]


def _without_preamble(text: str) -> str:
    return text.removeprefix("Cannot solve the request because of: ")
