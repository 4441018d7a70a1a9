"""The devices a probe computes on: every card torch can use, else the processor."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

ERROR_LENGTH = 1600
"""Characters of an exception that are kept, half of them from its end."""


def load_torch() -> Any:
    """Return torch, told before it starts CUDA that cuBLAS has to repeat itself to the bit.

    https://docs.nvidia.com/cuda/cublas/#results-reproducibility
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return importlib.import_module("torch")


def devices(torch: Any, asked: dict[str, Any]) -> list[str]:
    """Return the names of the devices to try: ``asked["device"]`` alone, else all cards, else the processor."""
    if asked.get("device"):
        return [str(asked["device"])]
    if torch.cuda.is_available():
        return ["cuda:" + str(index) for index in range(torch.cuda.device_count())]
    return ["cpu"]


def described(torch: Any, device: str) -> dict[str, Any]:
    """Return name and compute capability of a device; a capability is NVIDIA's, None on anything else."""
    if not device.startswith("cuda"):
        return {"name": device, "capability": None}
    nvidia = torch.version.cuda is not None  # ROCm calls its cards cuda too
    capability = list(torch.cuda.get_device_capability(device)) if nvidia else None
    return {"name": torch.cuda.get_device_name(device), "capability": capability}


def has_bf16(described_device: dict[str, Any]) -> bool:
    """Return whether a device computes in bfloat16 itself.

    ``torch.cuda.is_bf16_supported()`` also says yes where it is emulated; NVIDIA's cards have it from 8.0 on.
    """
    capability = described_device["capability"]
    return capability is None or capability[0] >= 8  # noqa: PLR2004 - the architecture called Ampere


def on_each(
    torch: Any, names: list[str], look: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return what ``look`` sees on each device; an exception on one becomes its ``error`` and the others are tried."""
    seen: dict[str, dict[str, Any]] = {}
    for name in names:
        about: dict[str, Any] = {}
        try:
            about = described(torch, name)
            seen[name] = {**about, **look(name, about)}
        except Exception as error:
            seen[name] = {**about, "error": told(error)}
    return seen


def told(error: BaseException) -> str:
    """Return an exception as one text with both ends: the first line names it, the last ones often say why."""
    text = type(error).__name__ + ": " + str(error).strip()
    half = ERROR_LENGTH // 2
    return text if len(text) <= ERROR_LENGTH else text[:half] + "\n…\n" + text[-half:]


def wait_for(torch: Any, device: str) -> None:
    """Return when a device has finished what it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
