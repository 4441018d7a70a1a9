"""Judges the NVIDIA driver, the library that programs load of it, and the fabric between cards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from packaging.version import Version

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.checks.units import counted
from conda_llmenv.hardware.tables import Tables
from conda_llmenv.hardware.versions import driver_text, parse
from conda_llmenv.model import Finding, Level, Status

NO_DRIVER = "this machine has no NVIDIA driver"
NO_CARDS_HANDED_IN = "the machine has an NVIDIA driver, but no card was handed into this container"
HAND_IN = "docker run --gpus all …"

CURRENT_MAJOR = 12
"""Oldest CUDA that PyTorch has had builds for in the last year; CUDA 11 ended with torch 2.7."""


def has_driver(scene: Scene, seen: Mapping[str, Any]) -> bool:
    """Return whether there is any sign of a driver: its module, its device files, or a card that answered."""
    return bool(seen.get("module") or seen.get("devices") or seen.get("wsl") or scene.host.driver or scene.host.gpus)


def is_closed_container(scene: Scene, seen: Mapping[str, Any]) -> bool:
    """Return whether only the kernel's side of the driver is seen: a container that got no cards shares the kernel."""
    return bool(seen.get("module")) and not seen.get("devices") and not seen.get("wsl") and not scene.host.gpus


def _driver_version(scene: Scene) -> Finding:
    seen = scene.values("driver-version")
    text = seen.get("module") or scene.host.driver
    driver = parse(text)
    if driver is None:
        return _without_driver(scene, seen)
    runs = _newest_runnable(driver, scene.tables)
    full = scene.tables.cuda_of_driver(driver)
    words = f"driver {text}" + (f", CUDA up to {full}" if full else "")
    if runs is None or runs.major < CURRENT_MAJOR:
        return _too_old(scene, str(text), runs)
    floor = scene.tables.driver_floor(Version(str(CURRENT_MAJOR)))
    return Finding(
        Status.PASS, words, str(text), f"{driver_text(floor)} or newer" if floor else "", detail=_later(driver, scene)
    )


def _without_driver(scene: Scene, seen: Mapping[str, Any]) -> Finding:
    cards = seen.get("pci_cards") or 0
    if has_driver(scene, seen):
        return Finding(Status.SKIP, "the version of the NVIDIA driver could not be read", detail=scene.host.problems)
    if not cards:
        return Finding(Status.SKIP, NO_DRIVER)
    words = f"{cards} NVIDIA card{'s are' if cards > 1 else ' is'} on the PCI bus, but no driver is loaded"
    return Finding(
        Status.FAIL if scene.cuda_tier else Status.SKIP, words, "no driver", "a driver", fix="sudo modprobe nvidia"
    )


def _too_old(scene: Scene, driver: str, runs: Version | None) -> Finding:
    floor = scene.tables.driver_floor(Version(str(CURRENT_MAJOR)))
    releases = [one for one in scene.tables.torch if runs and any(cuda.major <= runs.major for cuda in one.variants)]
    newest = f"newest PyTorch built for that is {releases[0].series}" if releases else "PyTorch has no build for that"
    least = driver_text(floor) if floor else ""
    return Finding(
        Status.WARN,
        f"driver {driver} runs CUDA {runs.major if runs else '9'} and older; the {newest}",
        driver,
        f"{least} or newer",
        f"install driver {least} or newer, for CUDA {CURRENT_MAJOR}",
    )


def _newest_runnable(driver: Version, tables: Tables) -> Version | None:
    """Return the newest CUDA that a driver runs at all, by minor-version compatibility too."""
    floors = ((cuda, tables.driver_floor(cuda)) for cuda in tables.cuda_versions())
    return max((cuda for cuda, floor in floors if floor is not None and driver >= floor), default=None)


def _later(driver: Version, scene: Scene) -> tuple[str, ...]:
    """Name each newer major that the driver does not run: builds for it say that the driver is too old."""
    majors = sorted({cuda.major for cuda in scene.tables.cuda_versions()})
    floors = [(major, scene.tables.driver_floor(Version(str(major)))) for major in majors]
    return tuple(
        f"builds for CUDA {major} need driver {driver_text(floor)} or newer"
        for major, floor in floors
        if floor is not None and driver < floor
    )


SYSTEM_NOT_READY, MISMATCH, COMPAT_NOT_SUPPORTED, NO_DEVICE, STUB = 802, 803, 804, 100, 34
"""Numbers of cuda.h, as cuInit returns them."""

_SAID = {
    SYSTEM_NOT_READY: (
        "CUDA says `system not yet initialized` (802): the fabric manager has not set up the NVSwitches",
        "sudo systemctl restart nvidia-fabricmanager",
    ),
    MISMATCH: (
        "CUDA says `unsupported display driver / cuda driver combination` (803): libcuda and the kernel module differ",
        "sudo reboot        (or: sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia)",
    ),
    COMPAT_NOT_SUPPORTED: (
        "CUDA says `forward compatibility was attempted on non supported HW` (804): a compat libcuda is loaded",
        "unset LD_LIBRARY_PATH        (or take cuda-compat out of the environment)",
    ),
    STUB: ("the libcuda that is loaded is a stub for linking", "unset LD_LIBRARY_PATH"),
    NO_DEVICE: ("CUDA finds no device (100)", "nvidia-smi -L"),
}


def _driver_library(scene: Scene) -> Finding:
    seen = scene.values("driver-library")
    module, said = seen.get("module") or scene.host.driver, seen.get("library")
    if not has_driver(scene, seen):
        return Finding(Status.SKIP, NO_DRIVER)
    if said is None:
        return Finding(Status.SKIP, "libcuda was not asked")
    if is_closed_container(scene, seen) and said.get("init") != 0:
        return Finding(Status.SKIP, NO_CARDS_HANDED_IN, fix=HAND_IN)
    version, init = said.get("version"), said.get("init")
    measured = ", ".join(filter(None, (f"libcuda {version or 'unknown'}", f"module {module}" if module else "")))
    detail = (str(said["path"]),) if said.get("path") else ()
    return _started(said, module, measured, detail) if init == 0 else _broken(said, module, measured, detail)


def _started(said: Mapping[str, Any], module: str | None, measured: str, detail: tuple[str, ...]) -> Finding:
    """CUDA starts: another version than the module's then works, on purpose or by luck."""
    version, api = said.get("version"), said.get("api")
    newest = f", CUDA up to {api // 1000}.{api % 1000 // 10}" if isinstance(api, int) else ""
    if not version or not module or version == module:
        return Finding(Status.PASS, f"CUDA starts{newest}", measured, "equal versions", detail=detail)
    if "compat" in str(said.get("path")):
        words = f"CUDA starts through the compatibility library {version}{newest}"
        return Finding(Status.PASS, words, measured, detail=detail)
    words = f"CUDA starts, but libcuda {version} is not of the loaded module {module}"
    return Finding(Status.WARN, words, measured, "equal versions", "sudo reboot", detail)


def _broken(said: Mapping[str, Any], module: str | None, measured: str, detail: tuple[str, ...]) -> Finding:
    version, init = said.get("version"), said.get("init")
    if "missing" in said:
        return Finding(
            Status.FAIL,
            "libcuda.so.1 cannot be loaded, though the driver is there",
            "no libcuda",
            f"libcuda {module}" if module else "libcuda",
            "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility …        (or install the driver's "
            "compute libraries: libnvidia-compute, nvidia-driver-cuda-libs)",
            (str(said["missing"]), *detail),
        )
    if init is None and version and module and version != module:
        words, fix = _SAID[MISMATCH]
        return Finding(Status.FAIL, words.partition("(803): ")[2], measured, "equal versions", fix, detail)
    if init is None:
        reason = said.get("problem") or "nothing was recorded"
        status = Status.FAIL if said.get("path") and said.get("problem") else Status.ERROR
        return Finding(
            status,
            f"CUDA could not be started: cuInit {reason}",
            measured,
            detail=detail,
            fix="sudo dmesg | grep -i xid",
        )
    words, fix = _SAID.get(init, (f"CUDA does not start: cuInit returns {init}", "sudo dmesg | grep -i nvrm"))
    return Finding(Status.FAIL, words, measured, "cuInit returns 0", fix, detail)


def _fabric_manager(scene: Scene) -> Finding:
    seen = scene.values("fabric-manager")
    states = [state for state in seen.get("states") or () if is_told(state)]
    init = seen.get("init")
    measured = ", ".join(sorted(set(states))) or ("running" if seen.get("running") else "")
    if init == SYSTEM_NOT_READY:
        return Finding(Status.FAIL, *_first(SYSTEM_NOT_READY, measured))
    if not states and not seen.get("switches"):
        return Finding(Status.SKIP, "no NVSwitch here: cards need no fabric manager")
    done = [state for state in states if state.lower() == "completed"]
    failed = _failed(seen)
    if states and len(done) == len(states) and not failed:
        return Finding(Status.PASS, f"the fabric of {len(states)} cards is set up", measured, "Completed")
    if failed or states:
        words = failed or f"the fabric of {len(states) - len(done)} of {len(states)} cards is not set up"
        return Finding(Status.WARN if init == 0 else Status.FAIL, words, measured, "Completed, Success")
    if init == 0 or seen.get("running"):
        return Finding(Status.PASS, "the fabric manager runs" if seen.get("running") else "CUDA starts over NVSwitches")
    return Finding(Status.WARN, "there are NVSwitches, and no sign that the fabric manager runs", "not seen", "running")


def _first(code: int, measured: str) -> tuple[str, str, str, str]:
    words, fix = _SAID[code]
    return words, measured, "Completed", fix


def is_told(text: str) -> bool:
    """Return whether a cell of nvidia-smi holds an answer; ``N/A``, ``[Not Supported]`` and their like are none."""
    return bool(text) and re.search(r"^\[|n/a|not supported|err!|unknown|deprecated", text, re.IGNORECASE) is None


def _failed(seen: Mapping[str, Any]) -> str:
    """Return what a card says went wrong; the status counts only where the state is complete (NVML reference)."""
    pairs = zip(seen.get("states") or (), seen.get("statuses") or (), strict=False)
    bad = [
        status
        for state, status in pairs
        if state.lower() == "completed" and is_told(status) and status.lower() != "success"
    ]
    return f"the fabric manager reports {bad[0]} for {counted(len(bad), 'card')}" if bad else ""


CHECKS = (
    Check(
        id="driver-version",
        title="the NVIDIA driver is loaded and current",
        group="host",
        level=Level.QUICK,
        judge=_driver_version,
        fix="nvidia-smi",
        probe="machine",
    ),
    Check(
        id="driver-library",
        title="CUDA starts with the driver's own library",
        group="host",
        level=Level.QUICK,
        judge=_driver_library,
        fix="nvidia-smi",
        probe="machine",
    ),
    Check(
        id="fabric-manager",
        title="the fabric between cards is set up",
        group="host",
        level=Level.FULL,
        judge=_fabric_manager,
        fix="sudo systemctl restart nvidia-fabricmanager; nvidia-smi -q | grep -A 3 Fabric",
        probe="machine",
        gpu=True,
    ),
)
"""In the order of the ladder."""
