"""Reduced precision, repeatability and memory of devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from conda_llmenv.checks.devices import Devices, broken_device, every_precision, named, unsupported, worst
from conda_llmenv.checks.limits import ALLOCATED, ATTENTION, GRADIENT
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status

GIB = 1024**3

LOOK_AT_CARD = "nvidia-smi -q -d ECC,PAGE_RETIREMENT,PERFORMANCE and `dmesg | grep -i xid` say more about the card"


def precision(scene: Scene) -> Finding:
    """Judge five training steps in bfloat16 and float16 on every device."""
    devices: Devices = scene.values("precision")["devices"]
    broken = broken_device(devices)
    if broken:
        return broken
    tried = {(device, name): found for device, name, found in every_precision(devices) if "unsupported" not in found}
    if not tried:
        return Finding(Status.SKIP, "autocast has no reduced precision here", detail=unsupported(devices))
    problems = [
        (f"{name} training on {device}", *one) for (device, name), found in tried.items() for one in _wrong(name, found)
    ]
    if problems:
        where, what, measured, expected = problems[0]
        detail = tuple(f"{where} {what}: {measured}" for where, what, measured, _ in problems)
        return Finding(Status.FAIL, f"{where} {what}", measured, expected, detail=detail)
    errors: dict[str, float] = {}
    for (_, name), found in tried.items():
        errors[name] = max(errors.get(name, 0.0), found["gradient_error"])
    return Finding(
        Status.PASS,
        f"training steps in {' and '.join(errors)} are right on {named(devices)}",
        f"gradients {worst(errors)}",
        ", ".join(f"{name} ≤ {GRADIENT[name]:.0e}" for name in errors),
        detail=unsupported(devices),
    )


def _wrong(name: str, found: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with the steps in one precision: what, measured, expected."""
    if not found["finite"]:
        yield "gives losses or gradients that are not finite", "NaN or infinity", "finite numbers"
        return
    error, losses = found["gradient_error"], found["losses"]
    if not error <= GRADIENT[name]:
        scaled = " behind the gradient scaler" if found["scaler"] else ""
        yield f"has other gradients{scaled} than float32", f"relative error {error:.1e}", f"≤ {GRADIENT[name]:.0e}"
    if not losses[-1] < losses[0]:
        yield (
            "does not lower its loss",
            f"{losses[0]:.4f} → {losses[-1]:.4f} in {len(losses)} steps",
            "a loss that falls",
        )
    if "scale" in found and not (math.isfinite(found["scale"]) and found["scale"] >= 1):
        yield "loses the scale of its gradients", f"scale {found['scale']:g}", "a finite scale of at least 1"
    if "attention" in found:
        yield "has no attention", str(found["attention"]), "scaled_dot_product_attention runs"
    elif "attention_error" in found and not found["attention_error"] <= ATTENTION[name]:
        measured = f"relative error {found['attention_error']:.1e}"
        yield "has a wrong attention", measured, f"≤ {ATTENTION[name]:.0e}"


def repeatability(scene: Scene) -> Finding:
    """Judge whether the same work gives the same bits, on one device and on cards of one name."""
    seen = scene.values("repeatability")
    devices: Devices = seen["devices"]
    broken = broken_device(devices)
    if broken:
        return broken
    expected = f"{seen['runs']} runs with the same bits"
    differing = {device: found for device, found in devices.items() if found["differing"]}
    if differing:
        device, found = next(iter(differing.items()))
        measured = f"{found['differing']} of {seen['runs'] - 1} repetitions differ, by up to {found['largest']:.1e}"
        summary = f"{', '.join(differing)} does not repeat its own results"
        return Finding(Status.FAIL, summary, measured, expected, fix=LOOK_AT_CARD if device.startswith("cuda") else "")
    if seen["unlike"]:
        odd = ", ".join(seen["unlike"])
        summary = f"{odd} computes other bits than the other cards of the same name"
        return Finding(Status.WARN, summary, f"unlike: {odd}", "the same bits on cards of one name", LOOK_AT_CARD)
    return Finding(Status.PASS, f"results repeat to the bit on {named(devices)}", f"{seen['runs']} runs", expected)


def memory(scene: Scene) -> Finding:
    """Judge the memory of every card that nobody else uses."""
    devices: Devices = scene.values("memory")["devices"]
    if not devices:
        return Finding(Status.SKIP, "torch sees no card here")
    broken = broken_device(devices)
    if broken:
        return broken
    wrong = {device: found["wrong_words"] for device, found in devices.items() if found.get("wrong_words")}
    if wrong:
        counts = ", ".join(f"{device}: {count} words" for device, count in wrong.items())
        summary = f"memory of {', '.join(wrong)} does not keep what is written"
        return Finding(Status.FAIL, summary, counts, "0 wrong words", LOOK_AT_CARD)
    used = {device: found["others"] for device, found in devices.items() if "others" in found}
    tried = {device: found for device, found in devices.items() if device not in used}
    busy = tuple(f"{device} is in use: {bytes_ / GIB:.1f} GiB of others, not tried" for device, bytes_ in used.items())
    if not tried:
        return Finding(Status.SKIP, "others use every card here", detail=busy)
    return _filled(tried, busy)


def _filled(tried: Devices, busy: tuple[str, ...]) -> Finding:
    """Judge cards that keep what is written by how much of them could be had."""
    short = {device: found for device, found in tried.items() if found["allocated"] < ALLOCATED * found["free"] - GIB}
    measured = ", ".join(f"{device} {found['allocated'] / GIB:.1f} GiB" for device, found in (short or tried).items())
    if short:
        reasons = tuple(f"{device}: {found.get('stopped', '')}" for device, found in short.items())
        expected = ", ".join(f"{device} {ALLOCATED * found['free'] / GIB:.1f} GiB" for device, found in short.items())
        summary = f"free memory of {', '.join(short)} cannot be had"
        return Finding(
            Status.WARN, summary, measured, expected, "nvidia-smi shows who uses the card", (*reasons, *busy)
        )
    speeds = [4 * found["allocated"] / found["took"] / 1e9 for found in tried.values()]
    summary = f"memory of {named(tried)} keeps what is written"
    return Finding(
        Status.PASS, summary, measured, "0 wrong words", detail=busy, figures={"memory_test_gbs": min(speeds)}
    )
