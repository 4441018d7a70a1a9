"""Finds the NVIDIA driver, its cards and the newest CUDA it runs."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from conda_llmenv.host.nvidia_smi import QUERY, Reading, parse_csv, parse_xml
from conda_llmenv.host.system import RECORDED, is_live, read_text
from conda_llmenv.ports import CommandRunner

SMI_SECONDS = 20.0
"""nvidia-smi takes seconds where persistence mode is off, and hangs on a card that fell off the bus."""

CUDA_SECONDS = 20.0

_SIGNS = ("sys/module/nvidia", "proc/driver/nvidia/version", "dev/nvidiactl", "dev/nvidia0", "dev/dxg")

_ASK_LIBCUDA = """
import ctypes
version = ctypes.c_int()
if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)) == 0:
    print(version.value)
"""


def read_driver(root: Path, environ: Mapping[str, str], run: CommandRunner) -> tuple[Reading, str]:
    """Return what is known of driver and cards, and where it comes from (``nvml``, ``nvidia-smi`` or ``none``).

    Without a sign of a driver nothing is loaded and no program is started.
    """
    kernel = kernel_driver(root)
    if not is_live(root):
        return _recorded(root, kernel)
    smi = shutil.which("nvidia-smi", path=environ.get("PATH", ""))
    if smi is None and not any((root / sign).exists() for sign in _SIGNS):
        return Reading(), "none"
    reading, source = _live(smi, environ, run)
    reading = replace(reading, driver=kernel or reading.driver)
    if reading.driver and reading.cuda is None:
        reading = replace(reading, cuda=ask_libcuda(environ, run))
    return reading, source


def kernel_driver(root: Path) -> str | None:
    """Return the version of the loaded kernel module, from sysfs or procfs."""
    version = (read_text(root / "sys/module/nvidia/version") or "").strip()
    if re.fullmatch(r"\d+(\.\d+)+", version):
        return version
    text = read_text(root / "proc/driver/nvidia/version") or ""
    match = re.search(r"^NVRM version:.*?\s(\d{3}\.\d+(?:\.\d+)?)\s", text, re.MULTILINE)
    return match[1] if match else None


def ask_libcuda(environ: Mapping[str, str], run: CommandRunner) -> str | None:
    """Return the newest CUDA of the driver as libcuda says it.

    A child process asks: a loaded libcuda would stay in ours and does not survive a fork.
    """
    with suppress(OSError):
        done = run([sys.executable, "-I", "-c", _ASK_LIBCUDA], env=environ, timeout=CUDA_SECONDS)
        return parse_cuda(done.stdout)
    return None


def parse_cuda(text: str) -> str | None:
    """Return ``12.4`` for ``12040`` or ``12.4``, None for anything else."""
    text = text.strip()
    if text.isdigit() and int(text) >= 1000:  # noqa: PLR2004 - the driver API counts 1000 per major release
        return f"{int(text) // 1000}.{int(text) % 1000 // 10}"
    return text if re.fullmatch(r"\d+\.\d+", text) else None


def _live(smi: str | None, environ: Mapping[str, str], run: CommandRunner) -> tuple[Reading, str]:
    from conda_llmenv.host.nvml import read_nvml

    nvml = read_nvml()
    if nvml.gpus or smi is None:
        return nvml, "nvml" if nvml.gpus else "none"
    asked = ask_smi(smi, environ, run)
    merged = Reading(
        asked.gpus, asked.driver or nvml.driver, nvml.cuda, tuple(dict.fromkeys(nvml.problems + asked.problems))
    )
    return merged, "nvidia-smi" if asked.gpus else "none"


def ask_smi(smi: str, environ: Mapping[str, str], run: CommandRunner) -> Reading:
    """Return what ``nvidia-smi`` says; a driver too old to know ``compute_cap`` (before 510) is asked without it."""
    reading = _query(smi, QUERY, environ, run)
    if any("does not know a field" in problem for problem in reading.problems):
        reading = _query(smi, [field for field in QUERY if field != "compute_cap"], environ, run)
    return reading


def _query(smi: str, fields: tuple[str, ...] | list[str], environ: Mapping[str, str], run: CommandRunner) -> Reading:
    argv = [smi, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        done = run(argv, env=environ, timeout=SMI_SECONDS)
    except OSError as error:
        return Reading(problems=(f"nvidia-smi cannot be started: {error.strerror or error}",))
    if done.timed_out:
        return Reading(
            problems=(f"nvidia-smi gave no answer within {SMI_SECONDS:.0f} s; a card may have fallen off the bus",)
        )
    reading = parse_csv(f"{done.stdout}\n{done.stderr}" if done.returncode else done.stdout)
    if done.returncode and not reading.problems:
        return replace(reading, problems=(f"nvidia-smi ended with status {done.returncode}",))
    return reading


def _recorded(root: Path, kernel: str | None) -> tuple[Reading, str]:
    folder = root / RECORDED
    cuda = parse_cuda(read_text(folder / "cuda-version") or "")
    for name, parse in (("nvidia-smi.csv", parse_csv), ("nvidia-smi.xml", parse_xml)):
        text = read_text(folder / name)
        if text is not None:
            reading = parse(text)
            found = replace(reading, driver=kernel or reading.driver, cuda=cuda or reading.cuda)
            return found, "nvidia-smi" if reading.gpus else "none"
    return Reading(driver=kernel, cuda=cuda), "none"
