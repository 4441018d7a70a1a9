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
    "kernel": (  # the name of a folder; Jupyter looks kernels up in lower case
        re.compile(r"[a-z0-9][a-z0-9._-]{0,63}"),
        "lower-case letters, digits, '.', '_' and '-', starting with a letter or digit, at most 64 characters",
    ),
    "variable": (
        re.compile(r"[A-Z_][A-Z0-9_]{0,127}"),
        "upper-case letters, digits and '_', not starting with a digit",
    ),
}

PLATFORMS = (
    "linux-64",
    "linux-aarch64",
    "linux-ppc64le",
    "linux-s390x",
    "linux-riscv64",
    "linux-32",
    "linux-armv6l",
    "linux-armv7l",
    "linux-ppc64",
    "osx-64",
    "osx-arm64",
    "win-64",
    "win-arm64",
    "win-32",
    "freebsd-64",
    "emscripten-wasm32",
    "wasi-wasm32",
    "zos-z",
)
"""Subdirs that conda knows (``conda.base.constants.KNOWN_SUBDIRS``), without ``noarch``, which no machine is."""

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


def check_platform(name: str) -> str:
    """Return ``name`` if it is a platform of conda's.

    Raises:
        InputError: it is none; the hint lists those there are.
    """
    if name in PLATFORMS:
        return name
    reason = "is part of every platform and none by itself" if name == "noarch" else "is no platform of conda"
    raise InputError(f"{_shown(name)} {reason}", hint=f"use one of {', '.join(PLATFORMS)}")


def _shown(name: str) -> str:
    return ascii(name if len(name) <= SHOWN else f"{name[:SHOWN]}...")
