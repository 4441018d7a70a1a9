"""Matrix products against float64 of the rounded inputs, and how fast they are."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any, NamedTuple

from .devices import has_bf16, on_each, told, wait_for

SIZES = {"small": 256, "cpu": 512, "cuda": 2048}
"""Rows and columns; 2048 gives every multiprocessor of a large card a tile of the product."""

TIMED = {"cpu": 1024, "cuda": 4096}
WARM_UP = 10
REPEATS = {"cpu": 10, "cuda": 30}

OVERRIDES = ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")
"""Variables that decide about TF32 whatever a program asks for."""


class Case(NamedTuple):
    """Rounded inputs of one precision and their product in float64, all on the processor."""

    left: Any
    right: Any
    exact: Any


def look(torch: Any, names: list[str], *, small: bool) -> dict[str, Any]:
    """Return errors of each device, speeds unless products are to be small, and the TF32 state of a fresh torch."""
    values = {"state": state(torch), "overrides": {name: os.environ[name] for name in OVERRIDES if name in os.environ}}
    kind = names[0].partition(":")[0]
    size = SIZES["small"] if small else SIZES.get(kind, SIZES["cpu"])
    cases = {name: case(torch, size, dtype) for name, dtype in precisions(torch).items()}
    reference = max(unlike_by_vectors(torch, one) for one in cases.values())
    seen = on_each(torch, names, lambda device, about: on_device(torch, device, about, cases, timed=not small))
    return {**values, "size": size, "reference_error": reference, "devices": seen}


def state(torch: Any) -> dict[str, Any]:
    """Return what torch does with float32 products as it starts."""
    found: dict[str, Any] = {"float32_matmul_precision": torch.get_float32_matmul_precision()}
    try:
        found["allow_tf32"] = bool(torch.backends.cuda.matmul.allow_tf32)
    except RuntimeError as error:  # somebody has used the newer setting, and torch refuses to mix the two
        found["allow_tf32"] = told(error)
    return found


def precisions(torch: Any) -> dict[str, Any]:
    """Return the types that products are computed in."""
    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def case(torch: Any, size: int, dtype: Any) -> Case:
    """Return inputs that are the same everywhere, rounded to a type, with their product in float64."""
    generator = torch.Generator().manual_seed(size)
    drawn = (torch.randn(size, size, generator=generator, dtype=torch.float64) for _ in range(2))
    left, right = (one.to(dtype) for one in drawn)
    return Case(left, right, torch.mm(left.double(), right.double()))


def unlike_by_vectors(torch: Any, one: Case) -> float:
    """Return how far the float64 product itself is from right, without a second matrix product.

    Freivalds: a wrong product gives a wrong vector for at least half of all vectors of signs.
    """
    generator = torch.Generator().manual_seed(7)
    worst = 0.0
    for _ in range(4):
        signs = torch.randint(0, 2, (one.exact.shape[1],), generator=generator).double() * 2 - 1
        inner = (one.right.double() * signs).sum(1)
        wanted = (one.left.double() * inner).sum(1)
        worst = max(worst, float(((one.exact * signs).sum(1) - wanted).norm() / wanted.norm()))
    return worst


def on_device(torch: Any, device: str, about: dict[str, Any], cases: dict[str, Case], *, timed: bool) -> dict[str, Any]:
    """Return the error of each precision on one device and, where asked, teraflops."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        found = {name: compared(torch, device, one, name, about) for name, one in cases.items()}
        speeds = {"fp32": teraflops(torch, device, torch.float32)} if timed else {}
        if has_tf32(about):
            torch.set_float32_matmul_precision("high")
            found["tf32"] = compared(torch, device, cases["fp32"], "tf32", about)
            if timed:
                torch.set_float32_matmul_precision("highest")
                speeds["bf16"] = teraflops(torch, device, torch.bfloat16)
    finally:
        torch.set_float32_matmul_precision(before)
    return {"precisions": found, "tflops": speeds}


def has_tf32(about: dict[str, Any]) -> bool:
    """Return whether a device has TF32 units: NVIDIA's from 8.0 on."""
    return about["capability"] is not None and has_bf16(about)


def compared(torch: Any, device: str, one: Case, name: str, about: dict[str, Any]) -> dict[str, Any]:
    """Return Frobenius error relative to the exact product, or why there is no such product here."""
    if name == "bf16" and not has_bf16(about):
        return {"unsupported": "compute capability {}.{} only emulates bfloat16".format(*about["capability"])}
    try:
        product = torch.matmul(one.left.to(device), one.right.to(device)).cpu().double()
    except RuntimeError as error:
        if "not implemented for" in str(error):
            return {"unsupported": told(error)}
        raise
    if not bool(torch.isfinite(product).all()):
        return {"finite": False}
    return {"finite": True, "error": float((product - one.exact).norm() / one.exact.norm())}


def teraflops(torch: Any, device: str, dtype: Any) -> float:
    """Return 10¹² multiplications and additions a second of a square product, by the median of many."""
    kind = device.partition(":")[0]
    size = TIMED.get(kind, TIMED["cpu"])
    matrix = torch.randn(size, size, device=device).to(dtype)  # ones draw less power than real numbers
    for _ in range(WARM_UP if kind == "cuda" else 2):
        torch.matmul(matrix, matrix)
    took = []
    for _ in range(REPEATS.get(kind, REPEATS["cpu"])):
        wait_for(torch, device)
        started = time.perf_counter()
        torch.matmul(matrix, matrix)
        wait_for(torch, device)
        took.append(time.perf_counter() - started)
    return 2 * float(size) ** 3 / statistics.median(took) / 1e12
