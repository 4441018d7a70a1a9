"""Rules for names that reach the disk or a shell; each is matched whole, before anything is written."""

from __future__ import annotations

import re

from conda_llmenv.errors import InputError

RULES = {
    "environment": (
        re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}"),
        "letters, digits, '.', '_', '+' and '-', starting with a letter or digit, at most 64 characters",
    ),
    "tier": (
        re.compile(r"[a-z0-9][a-z0-9._-]{0,63}"),
        "lower-case letters, digits, '.', '_' and '-', at most 64 characters",
    ),
    "recipe": (
        re.compile(r"[a-z0-9][a-z0-9._-]{0,63}"),
        "lower-case letters, digits, '.', '_' and '-', at most 64 characters",
    ),
    "fragment": (
        re.compile(r"[a-z0-9][a-z0-9._-]{0,63}"),
        "lower-case letters, digits, '.', '_' and '-', at most 64 characters",
    ),
    "variable": (
        re.compile(r"[A-Z_][A-Z0-9_]{0,127}"),
        "upper-case letters, digits and '_', not starting with a digit",
    ),
}

SHOWN = 40
"""Characters of a refused name that a message repeats."""

RESERVED_ENVIRONMENTS = ("base", "root")
"""Names conda keeps for its own environment."""


def check_name(kind: str, name: str) -> str:
    """Return ``name`` if it fits the written rule of its kind.

    Args:
        kind: a key of :data:`RULES`.
        name: what somebody typed or wrote.

    Raises:
        InputError: it does not fit; the message holds the rule.
    """
    pattern, rule = RULES[kind]
    if pattern.fullmatch(name) and ".." not in name:
        if kind == "environment" and name.lower() in RESERVED_ENVIRONMENTS:
            raise InputError(
                f"{name!r} is conda's own environment and is never touched",
                hint="choose another name with -n, or give a folder with -p",
            )
        return name
    raise InputError(f"{kind} name {_shown(name)} is not allowed", hint=f"use {rule}")


def _shown(name: str) -> str:
    return ascii(name if len(name) <= SHOWN else f"{name[:SHOWN]}...")
