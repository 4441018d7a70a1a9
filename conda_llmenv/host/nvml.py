"""Asks NVML, the driver's own management library; it creates no CUDA context and is safe before a fork."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from conda_llmenv.host.nvidia_smi import UNNAMED, Reading
from conda_llmenv.model import Gpu


def read_nvml() -> Reading:
    """Return driver, CUDA version and cards as NVML gives them; a failure is a sentence in ``problems``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pynvml  # type: ignore[import-untyped]  # the package ships no types
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Reading(problems=(_sentence(pynvml, error),))
    try:
        return reading_of(pynvml)
    except pynvml.NVMLError as error:
        return Reading(problems=(_sentence(pynvml, error),))
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def reading_of(nvml: Any) -> Reading:
    """Return driver, CUDA version and cards of an initialised NVML; a card that does not answer is still a card."""
    encoded = _asked(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2)
    gpus: list[Gpu] = []
    problems: list[str] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = _asked(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
        if handle is None:
            gpus.append(Gpu(UNNAMED))
            problems.append(f"card {index} does not answer NVML; it may need a reset")
        else:
            gpus += _device(nvml, handle)
    driver = _str(nvml.nvmlSystemGetDriverVersion())
    return Reading(tuple(gpus), driver, cuda_text(encoded) if encoded else None, tuple(problems))


def cuda_text(encoded: int) -> str:
    """Return ``12.4`` for the driver API's 12040."""
    return f"{encoded // 1000}.{encoded % 1000 // 10}"


def _device(nvml: Any, handle: Any) -> list[Gpu]:
    """Return the card, or its slices if it is in MIG mode."""
    name = _str(_asked(nvml, nvml.nvmlDeviceGetName, handle) or UNNAMED)
    found = _asked(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    capability = (int(found[0]), int(found[1])) if found else None
    slices = _mig_devices(nvml, handle)
    if slices:
        return [Gpu(f"{name} MIG slice", _mib(nvml, part), capability) for part in slices]
    return [Gpu(name, _mib(nvml, handle), capability)]


def _mig_devices(nvml: Any, handle: Any) -> list[Any]:
    """Return the slices of a card; most cards and older drivers do not know MIG."""
    mode = _asked(nvml, nvml.nvmlDeviceGetMigMode, handle)
    if mode is None or mode[0] != nvml.NVML_DEVICE_MIG_ENABLE:
        return []
    count = _asked(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    found = (_asked(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index) for index in range(count))
    return [part for part in found if part is not None]


def _mib(nvml: Any, handle: Any) -> int | None:
    memory = _asked(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    return None if memory is None else int(memory.total) // 2**20


def _asked(nvml: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return NVML's answer, or None where it has none."""
    try:
        return call(*arguments)
    except nvml.NVMLError:
        return None


def _sentence(pynvml: Any, error: Exception) -> str:
    if isinstance(error, pynvml.NVMLError_LibRmVersionMismatch):
        return (
            "NVML reports a driver/library version mismatch: the loaded kernel module is not the installed driver's; "
            "reload the module or reboot"
        )
    return f"NVML does not answer: {error}"


def _str(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
