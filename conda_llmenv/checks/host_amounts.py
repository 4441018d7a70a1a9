"""Amounts of memory in words, as ``df -h`` and Docker count them: 1 MB is 2**20 bytes, 1 GB is 2**30."""

from __future__ import annotations

import math

MB = 2**20
GB = 2**30
UNLIMITED = -1

_ENOUGH_MB = 1000


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
