"""Numbers of a machine: whole ones, and amounts of memory as ``df -h`` and Docker count: 1 MB is 2**20 bytes."""

from __future__ import annotations

import math

MB = 2**20
GB = 2**30
UNLIMITED = -1

_ENOUGH_MB = 1000
"""From so many on, an amount is told in GB."""


def amount(count: int) -> str:
    """Return an amount in words, rounded down: 67108864 → ``64 MB``."""
    if count < _ENOUGH_MB * MB:
        return f"{count // MB} MB" if count >= MB else f"{count // 1024} kB"
    return f"{math.floor(count / GB * 10) / 10:.1f} GB"


def need(count: int) -> str:
    """Return what is needed in words, rounded up, so that what is enough never reads as too little."""
    if count < _ENOUGH_MB * MB:
        return f"{math.ceil(count / MB)} MB"
    return f"{math.ceil(count / GB * 10) / 10:.1f} GB"


def limit(count: int | None) -> str:
    """Return a limit in bytes in words; -1 is ``unlimited``."""
    return "unknown" if count is None else "unlimited" if count == UNLIMITED else amount(count)


def whole(value: object) -> int | None:
    """Return a setting, or what a program printed, as a number without a sign; None where it is something else."""
    return int(str(value)) if str(value).isdigit() else None
