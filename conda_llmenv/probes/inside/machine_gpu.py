"""Observes the NVIDIA driver, its library, the fabric manager, and what nvidia-smi says of each card's health."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any, Dict

from .machine_files import RECORDED, Answer, Machine, ask
from .machine_network import variables

FIELDS = (
    "index",
    "name",
    "pci.bus_id",
    "persistence_mode",
    "compute_mode",
    "ecc.mode.current",
    "ecc.errors.uncorrected.volatile.total",
    "retired_pages.pending",
    "remapped_rows.pending",
    "remapped_rows.failure",
    "mig.mode.current",
    "clocks_throttle_reasons.active",
    "pcie.link.gen.current",
    "pcie.link.gen.max",
    "pcie.link.width.current",
    "pcie.link.width.max",
    "fabric.state",
    "fabric.status",
)
"""What nvidia-smi is asked for; one it does not know (the driver is too old or too new) is left out and asked again."""

RENAMED = {"clocks_throttle_reasons.active": "clocks_event_reasons.active"}
"""New name of a field since driver 535; the old one is told either way."""

UNKNOWN_FIELD = re.compile(r'Field "([^"]+)" is not a valid field to query')

SMI_SECONDS = 20.0
"""All questions to nvidia-smi together; one takes seconds where persistence mode is off and there are eight cards."""

INIT_SECONDS = 20.0

Row = Dict[str, str]
"""One card: field to what nvidia-smi prints for it."""

WSL_SMI = "/usr/lib/wsl/lib/nvidia-smi"

NVIDIA = "0x10de"
DISPLAY, SWITCH = "0x03", "0x0680"
"""PCI classes: display controllers, and the bridges that NVSwitches are."""

START_CUDA = """
import ctypes, json, sys
said = {}
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    said["missing"] = str(error)
else:
    with open("/proc/self/maps") as maps:
        said["path"] = next((line.split(None, 5)[5].strip() for line in maps if "libcuda.so" in line), "")
    version = ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(version)) == 0:
        said["api"] = version.value
    print(json.dumps(said), flush=True)
    said["init"] = cuda.cuInit(0)
print(json.dumps(said), flush=True)
"""
"""Run by a child process: what cuInit does to a process does not survive a fork, and it may hang on a broken card."""


def driver(machine: Machine) -> dict[str, Any]:
    """Return the version of the kernel module and the signs of cards: device files and PCI devices."""
    cards, switches = machine.once("pci", _pci)
    return {
        "module": module_version(machine),
        "devices": _devices(machine),
        "pci_cards": cards,
        "pci_switches": switches,
        "wsl": os.path.exists(machine.path("dev/dxg")),
    }


def module_version(machine: Machine) -> str | None:
    """Return the version of the loaded kernel module, None without one."""
    text = (machine.text("sys/module/nvidia/version") or "").strip()
    if re.fullmatch(r"\d+(?:\.\d+)+", text):
        return text
    lines = machine.text("proc/driver/nvidia/version") or ""
    found = re.search(r"^NVRM version:.*?\s(\d{3}\.\d+(?:\.\d+)?)\s", lines, re.MULTILINE)
    return found.group(1) if found else None


def _devices(machine: Machine) -> list[str]:
    return [name for name in machine.names("dev") if re.fullmatch(r"nvidia\d+", name)]


def _pci(machine: Machine) -> tuple[int, int]:
    """Count NVIDIA's display controllers and NVSwitches on the PCI bus."""
    cards = switches = 0
    for name in machine.names("sys/bus/pci/devices"):
        folder = "sys/bus/pci/devices/" + name
        if (machine.text(folder + "/vendor") or "").strip() == NVIDIA:
            kind = (machine.text(folder + "/class") or "").strip()
            cards += kind.startswith(DISPLAY)
            switches += kind.startswith(SWITCH)
    return cards, switches


def _has_driver(machine: Machine) -> bool:
    return bool(module_version(machine) or _devices(machine) or os.path.exists(machine.path("dev/dxg")))


def library(machine: Machine) -> dict[str, Any]:
    """Return what loading libcuda and starting CUDA came to, besides what :func:`driver` returns."""
    return dict(driver(machine), library=machine.once("library", _library))


def _library(machine: Machine) -> dict[str, Any] | None:
    if not machine.live:
        text = machine.text(f"{RECORDED}/libcuda.json")
        return None if text is None else dict(json.loads(text))
    if not _has_driver(machine):
        return None
    environ = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    answer = ask([sys.executable, "-I", "-c", START_CUDA], INIT_SECONDS, environ)
    said = _last_json(answer.stdout)
    if answer.problem or answer.status:
        said["problem"] = answer.problem or f"ended with status {answer.status}"
    real = os.path.realpath(said.get("path", ""))
    version = re.search(r"libcuda\.so\.(\d{3}\.[\d.]+)$", real)
    said["version"] = version.group(1) if version else None
    return said


def _last_json(text: str) -> dict[str, Any]:
    """Return the last line that is a JSON mapping: the driver's library may print lines of its own."""
    mappings = (line for line in reversed(text.splitlines()) if line.startswith("{"))
    with contextlib.suppress(ValueError):
        return dict(json.loads(next(mappings, "{}")))
    return {}


def health(machine: Machine) -> dict[str, Any]:
    """Return nvidia-smi's rows, one a card, as it prints them, and why there are none."""
    rows, problem = machine.once("smi", _smi)
    return dict(driver(machine), cards=rows, problem=problem)


def count(machine: Machine) -> dict[str, Any]:
    """Return what says how many cards a program sees here."""
    rows, problem = machine.once("smi", _smi)
    modes = {key: [row.get(key, "") for row in rows] for key in ("mig.mode.current", "compute_mode")}
    shown = variables(("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"))
    return dict(driver(machine), modes=modes, listed=len(rows), problem=problem, variables=shown)


def fabric(machine: Machine) -> dict[str, Any]:
    """Return whether there are NVSwitches, whether the fabric manager runs, and what the cards say of the fabric."""
    rows, _ = machine.once("smi", _smi)
    switches = machine.once("pci", _pci)[1]
    nodes = [name for name in machine.names("dev") if re.fullmatch(r"nvidia-nvswitch\d+", name)]
    loaded = machine.once("library", _library) or {}
    return {
        "switches": max(switches, len(nodes), len(machine.names("proc/driver/nvidia-nvswitch/devices"))),
        "running": _runs(machine, "nv-fabricmanager"),
        "states": [row.get("fabric.state", "") for row in rows],
        "statuses": [row.get("fabric.status", "") for row in rows],
        "init": loaded.get("init"),
        "cards": len(rows),
    }


def _runs(machine: Machine, name: str) -> bool:
    """Whether a process of that name is seen; the kernel keeps 15 letters of it."""
    processes = (number for number in machine.names("proc") if number.isdigit())
    return any((machine.text(f"proc/{number}/comm") or "").strip() == name[:15] for number in processes)


def _smi(machine: Machine) -> tuple[list[Row], str]:
    """Return (rows, problem) of nvidia-smi, or of what was recorded."""
    if not machine.live:
        text = machine.text(f"{RECORDED}/nvidia-smi-health.csv")
        return ([], "") if text is None else _recorded_rows(text)
    program = shutil.which("nvidia-smi") or (WSL_SMI if os.path.exists(WSL_SMI) else None)
    if program is None:
        return [], "nvidia-smi is not installed" if _has_driver(machine) else ""
    deadline = time.monotonic() + SMI_SECONDS
    asked = list(FIELDS)
    while asked:
        question = [program, "--query-gpu=" + ",".join(asked), "--format=csv,noheader,nounits"]
        answer = ask(question, max(0.1, deadline - time.monotonic()))
        unknown = UNKNOWN_FIELD.search(answer.stdout)
        if unknown is None or unknown.group(1) not in asked:
            rows, problem = _rows(asked, answer)
            return rows, problem or ("" if rows else "nvidia-smi printed nothing")
        asked = _without(asked, unknown.group(1))
    return [], "nvidia-smi knows none of the fields it was asked for"


def _without(asked: Sequence[str], field: str) -> list[str]:
    return [RENAMED.get(name, name) if name == field else name for name in asked if name != field or name in RENAMED]


def _rows(asked: Sequence[str], answer: Answer) -> tuple[list[Row], str]:
    if answer.problem:
        return [], "nvidia-smi " + answer.problem
    lines = [line for line in answer.stdout.splitlines() if line.strip()]
    rows = [row for row in (_row(asked, line) for line in lines) if row]
    strange = [line.strip() for line in lines if not _row(asked, line)]
    problem = "; ".join(strange[:3])[:300]
    if answer.status:
        problem = f"nvidia-smi ended with status {answer.status}" + (f": {problem}" if problem else "")
    return rows, problem


def _row(asked: Sequence[str], line: str) -> Row | None:
    cells = next(csv.reader([line], skipinitialspace=True))
    if len(cells) != len(asked):
        return None
    return {_old_name(name): cells[column].strip() for column, name in enumerate(asked)}


def _recorded_rows(text: str) -> tuple[list[Row], str]:
    header, *lines = [line for line in text.splitlines() if line.strip()] or [""]
    asked = [re.sub(r"\s*\[.*\]", "", name).strip() for name in header.split(",")]
    return _rows(asked, Answer("\n".join(lines)))


def _old_name(name: str) -> str:
    return {new: old for old, new in RENAMED.items()}.get(name, name)
