"""Numbers as people read them: sizes, durations, and the figures of checks, whose names end in their unit."""

from __future__ import annotations

import math

from conda_llmenv.checks.figures import RATES

GIB = 2**30
MIB = 2**20
MINUTE = 60
THOUSAND = 1000
SHORTEST = 0.01


ENDINGS = RATES | {
    "_seconds": "s",
    "_ms": "ms",
    "_us": "µs",
    "_s": "s",
    "_gib": "GiB",
    "_mib": "MiB",
    "_bytes": "bytes",
    "_percent": "%",
}
"""Ending of a figure's name to the symbol of its unit; ``_per_s`` is looked for before ``_s``."""


def named(figure: str) -> tuple[str, str]:
    """Return what a figure is called and its unit: ``all_reduce_busbw_gbs`` is ``all reduce busbw`` in GB/s."""
    ending = next((ending for ending in ENDINGS if figure.endswith(ending)), "")
    return figure.removesuffix(ending).replace("_", " "), ENDINGS.get(ending, "")


def number(value: float) -> str:
    """Return a number with three digits that count, or all of those before the point."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= THOUSAND else f"{value:.3g}"


def amount(value: float, unit: str) -> str:
    """Return a number with its unit."""
    return f"{number(value)} {unit}".rstrip()


def duration(seconds: float) -> str:
    """Return seconds as ``0.02 s``, ``41.3 s`` or ``1 min 48 s``."""
    if seconds < SHORTEST:
        return f"< {SHORTEST} s"
    if not math.isfinite(seconds) or seconds < MINUTE:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), MINUTE)
    return f"{minutes} min {rest} s"


def size(number_of_bytes: int) -> str:
    """Return bytes in GiB or MiB."""
    if number_of_bytes >= GIB:
        return f"{number(number_of_bytes / GIB)} GiB"
    return f"{number(number_of_bytes / MIB)} MiB"
