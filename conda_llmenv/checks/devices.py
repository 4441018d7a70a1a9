"""What the judgements of several devices have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conda_llmenv.checks.causes import known_fix
from conda_llmenv.model import Finding, Status

Devices = Mapping[str, Mapping[str, Any]]
"""Name of a device such as ``cuda:0`` to what was seen on it."""

MEMORY_TAKEN = "out of memory"


def broken_device(devices: Devices) -> Finding | None:
    """Return the finding of the first device that raised an exception, or None where all did their work.

    Memory that others hold is no fault of the environment: the check could not be run.
    """
    broken = {device: str(seen["error"]) for device, seen in devices.items() if seen.get("error")}
    if not broken:
        return None
    error = next(iter(broken.values()))
    first = error.splitlines()[0]
    if all(MEMORY_TAKEN in text for text in broken.values()):
        fix = "nvidia-smi shows who uses the card; run the check again when it is free"
        return Finding(Status.ERROR, f"no free memory on {', '.join(broken)}", measured=first, fix=fix)
    return Finding(
        Status.FAIL,
        f"{', '.join(broken)} cannot compute: {first}",
        measured=first,
        fix=known_fix([error]),
        detail=tuple(f"{name}: {text.splitlines()[0]}" for name, text in broken.items()),
    )


def every_precision(devices: Devices) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield device, precision and what was seen of it, for each precision of each device."""
    for device, seen in devices.items():
        for precision, found in seen["precisions"].items():
            yield device, precision, found


def unsupported(devices: Devices) -> tuple[str, ...]:
    """Return a line for each precision that was not tried, with the reason."""
    every = every_precision(devices)
    lines = (
        f"{precision} not tried: {found['unsupported']}" for _, precision, found in every if "unsupported" in found
    )
    return tuple(dict.fromkeys(lines))


def named(devices: Devices) -> str:
    """Return the devices in words, equal ones together: ``2 × NVIDIA L4``, ``cpu``."""
    names = [str(seen.get("name") or device) for device, seen in devices.items()]
    counts = {name: names.count(name) for name in names}
    return ", ".join(f"{count} × {name}" if count > 1 else name for name, count in counts.items())


def worst(errors: Mapping[str, float]) -> str:
    """Return errors by precision as text."""
    return ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
