"""Matrix products: right by value in every precision, TF32 as a program finds it, and no card slower than its like."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from conda_llmenv.checks.devices import Devices, broken_device, every_precision, named, unsupported, worst
from conda_llmenv.checks.limits import MATMUL, REFERENCE, SLOW_CARD
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status


def matmul(scene: Scene) -> Finding:
    """Judge the products of every device against the limits."""
    seen = scene.values("matmul")
    devices: Devices = seen["devices"]
    error = float(seen["reference_error"])
    if not error <= REFERENCE:  # NaN too
        return Finding(
            Status.FAIL,
            "the processor multiplies float64 matrices wrongly",
            measured=f"relative error {error:.1e}",
            expected=f"≤ {REFERENCE:.0e}",
            fix=_which_torch(scene),
        )
    return broken_device(devices) or _wrong(scene, seen) or _right(seen)


def _wrong(scene: Scene, seen: Mapping[str, Any]) -> Finding | None:
    """Return the finding for products beyond their limits or not finite; None where all are within."""
    devices: Devices = seen["devices"]
    problems = {
        (device, precision): found
        for device, precision, found in every_precision(devices)
        if "unsupported" not in found and not (found["finite"] and found["error"] <= MATMUL[precision])
    }
    if not problems:
        return None
    (device, precision), found = next(iter(problems.items()))
    detail = tuple(f"{one} on {where}: {_error(that)}" for (where, one), that in problems.items())
    overrides = [f"{name}={value}" for name, value in seen["overrides"].items()]
    rounded = all(
        one == "fp32" and that["finite"] and that["error"] <= MATMUL["tf32"] for (_, one), that in problems.items()
    )
    if rounded and overrides:
        summary = f"float32 products on {device} are rounded to TF32 by {' '.join(overrides)}"
        return Finding(
            Status.WARN, summary, _error(found), _expected([precision]), f"unset {' '.join(seen['overrides'])}", detail
        )
    return Finding(
        Status.FAIL,
        f"{precision} matrix products on {device} are wrong",
        _error(found),
        _expected([precision]),
        _which_card(device) or _which_torch(scene),
        detail,
    )


def _right(seen: Mapping[str, Any]) -> Finding:
    devices: Devices = seen["devices"]
    errors: dict[str, float] = {}
    for _, precision, found in every_precision(devices):
        if "unsupported" not in found:
            errors[precision] = max(errors.get(precision, 0.0), found["error"])
    speeds = {device: found["tflops"] for device, found in devices.items() if found.get("tflops")}
    figures = {f"matmul_{name}_tflops": min(one[name] for one in speeds.values()) for name in _measured(speeds)}
    status, summary = Status.PASS, f"{_and(tuple(errors))} matrix products are right on {named(devices)}"
    slow = _slow(devices)
    if slow:
        status, summary = Status.WARN, f"{', '.join(slow)} is much slower than the other cards of its name"
    fix = "nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE shows why a card is held back" if slow else ""
    detail = (
        *(_speed(device, found) for device, found in speeds.items()),
        _state(seen["state"]),
        *unsupported(devices),
    )
    return Finding(status, summary, worst(errors), _expected(errors), fix, detail, figures)


def _measured(speeds: Mapping[str, Mapping[str, float]]) -> tuple[str, ...]:
    """Return the precisions whose speed is known of every device."""
    return tuple(name for name in ("fp32", "bf16") if speeds and all(name in one for one in speeds.values()))


def _slow(devices: Devices) -> tuple[str, ...]:
    """Return the cards that reach too little of the median of the cards of their name."""
    by_name: dict[str, dict[str, float]] = {}
    for device, seen in devices.items():
        if "fp32" in seen.get("tflops", {}):
            by_name.setdefault(str(seen.get("name")), {})[device] = float(seen["tflops"]["fp32"])
    return tuple(
        device
        for speeds in by_name.values()
        for device, speed in speeds.items()
        if speed < SLOW_CARD * statistics.median_high(speeds.values())
    )


def _error(found: Mapping[str, Any]) -> str:
    return f"relative error {found['error']:.1e}" if found["finite"] else "NaN or infinity"


def _expected(precisions: Mapping[str, Any] | list[str]) -> str:
    return "relative error: " + ", ".join(f"{name} ≤ {MATMUL[name]:.0e}" for name in precisions)


def _speed(device: str, speeds: Mapping[str, float]) -> str:
    return f"{device}: " + ", ".join(f"{name} {speed:.3g} TFLOP/s" for name, speed in speeds.items())


def _state(state: Mapping[str, Any]) -> str:
    return (
        f"as it starts: float32_matmul_precision={state['float32_matmul_precision']}, allow_tf32={state['allow_tf32']}"
    )


def _which_card(device: str) -> str:
    if not device.startswith("cuda"):
        return ""
    return (
        f"nvidia-smi -q -d ECC,PAGE_RETIREMENT -i {device.partition(':')[2]}; a card that stays wrong is to be replaced"
    )


def _which_torch(scene: Scene) -> str:
    shown = f"{scene.prefix}/bin/python -I -c 'import torch; print(torch.__file__, torch.__config__.show())'"
    return f"{shown} names the torch and the BLAS that compute; install that torch anew"


def _and(words: tuple[str, ...]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
