"""The facts in the head of a lock, label → text: what a person should know of it, and what the program reads again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conda_llmenv.model import Record

TIER = "tier"
"""The tier that a lock was made for."""

PLATFORM = "platform"
"""The platform it was made on, in formats that say nothing of it themselves; another one may use it too."""

IMPORTS = "imports"
"""What must be importable, separated by blanks."""

LEFT_OUT = "left out"
"""What a file holds and the lock does not."""

_LOOKED_FOR = {"python": "python", "cuda-version": "CUDA", "pytorch": "torch"}
"""Packages whose version a reader looks for first, with their label."""


def versions(records: Iterable[Record]) -> dict[str, str]:
    """Return the versions that a reader looks for first; those of packages that are not there are missing."""
    known = {record.name: record.version for record in records}
    return {label: known[name] for name, label in _LOOKED_FOR.items() if name in known}


def stated(facts: Mapping[str, str]) -> dict[str, str]:
    """Return the facts that say anything."""
    return {label: text for label, text in facts.items() if text}


def left_out(facts: Mapping[str, str], what: Iterable[str]) -> dict[str, str]:
    """Return facts with what the file holds and the lock does not, if there is any."""
    return stated({**facts, LEFT_OUT: ", ".join(what)})
