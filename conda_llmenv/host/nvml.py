"""Asks NVML, the driver's own management library; it creates no CUDA context and is safe before a fork."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

from conda_llmenv.host.nvidia_smi import Reading
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
        return _read(pynvml)
    except pynvml.NVMLError as error:
        return Reading(problems=(_sentence(pynvml, error),))
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _read(pynvml: Any) -> Reading:
    encoded = pynvml.nvmlSystemGetCudaDriverVersion_v2()
    gpus: list[Gpu] = []
    problems: list[str] = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            gpus += _device(pynvml, pynvml.nvmlDeviceGetHandleByIndex(index))
        except pynvml.NVMLError as error:  # noqa: PERF203 - one broken card must not hide the others
            problems.append(f"card {index} does not answer NVML: {error}")
    return Reading(tuple(gpus), _str(pynvml.nvmlSystemGetDriverVersion()), cuda_text(encoded), tuple(problems))


def cuda_text(encoded: int) -> str:
    """Return ``12.4`` for the driver API's 12040."""
    return f"{encoded // 1000}.{encoded % 1000 // 10}"


def _device(pynvml: Any, handle: Any) -> list[Gpu]:
    """Return the card, or its slices if it is in MIG mode."""
    name = _str(pynvml.nvmlDeviceGetName(handle))
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    slices = _mig_devices(pynvml, handle)
    if slices:
        return [Gpu(f"{name} MIG slice", _mib(pynvml, part), (major, minor)) for part in slices]
    return [Gpu(name, _mib(pynvml, handle), (major, minor))]


def _mig_devices(pynvml: Any, handle: Any) -> list[Any]:
    found = []
    try:
        current, _pending = pynvml.nvmlDeviceGetMigMode(handle)
        if current != pynvml.NVML_DEVICE_MIG_ENABLE:
            return []
        for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
            with suppress(pynvml.NVMLError_NotFound):
                found.append(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index))
    except pynvml.NVMLError:  # most cards and older drivers do not know MIG
        return []
    return found


def _mib(pynvml: Any, handle: Any) -> int | None:
    try:
        return int(pynvml.nvmlDeviceGetMemoryInfo(handle).total) // 2**20
    except pynvml.NVMLError:
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
