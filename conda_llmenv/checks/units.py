"""Numbers as people read them: counts, durations, and the figures of checks, whose names end in their unit."""

from __future__ import annotations

import math

MINUTE = 60
THOUSAND = 1000
SHORTEST = 0.01
"""Seconds; what took less is not told more exactly."""

RATES = {"_gbs": "GB/s", "_mbs": "MB/s", "_tflops": "TFLOP/s", "_per_s": "per second"}
"""Ending of a figure's name to its unit, where more is better."""

TIMES = {"_seconds": 1.0, "_ms": 1e-3, "_us": 1e-6, "_s": 1.0}
"""Ending of a figure's name to the seconds in one of its unit, where less is better."""

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


def counted(count: int, noun: str) -> str:
    """Return ``1 card`` or ``2 cards``."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"
