"""Reading what nvidia-smi prints (pure): the CSV of ``--query-gpu`` and the XML of ``-q -x``.

A card that is listed never vanishes: what cannot be read of it is None, and ``problems`` says so.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from msgspec import Struct

from conda_llmenv.model import Gpu

QUERY = ("name", "memory.total", "compute_cap", "driver_version")
"""Fields asked for, in the order of the columns."""

UNNAMED = "unknown NVIDIA GPU"

_DRIVER = re.compile(r"\d{3}\.\d+(?:\.\d+)?")
_CAPABILITY = re.compile(r"(\d{1,2})\.(\d)")
_MEMORY = re.compile(r"(\d+)(?:\s*MiB)?")
_MISSING = re.compile(r"\[.*\]|N/A|ERR!|Unknown( Error)?|Not Supported", re.IGNORECASE)

_STALE_MODULE = (
    "nvidia-smi reports a driver/library version mismatch: the loaded kernel module is not the installed driver's; "
    "reload the module or reboot"
)
NO_DEVICES = "nvidia-smi finds no devices: the driver is there, no card is visible"

_FAILURES = (
    (r"Driver/library version mismatch", _STALE_MODULE),
    (
        r"couldn't communicate with the NVIDIA driver",
        "nvidia-smi cannot reach the NVIDIA driver; is the module loaded?",
    ),
    (r"No devices (were )?found", NO_DEVICES),
    (r"is not a valid field to query", "this nvidia-smi does not know a field it was asked for"),
    (r"Unable to determine the device handle|GPU is lost", "nvidia-smi lost a card; it needs a reset or a reboot"),
)
"""What nvidia-smi prints instead of cards, and what that means."""


class Reading(Struct, frozen=True):
    """What nvidia-smi said; ``cuda`` is only in the XML."""

    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    problems: tuple[str, ...] = ()


def parse_csv(text: str) -> Reading:
    """Return the cards of a ``--query-gpu=…  --format=csv`` answer, with or without header and units.

    Columns are recognised by what stands in them, so that a header with other words, another order or a missing column
    changes nothing; a row of which nothing can be recognised is reported.
    """
    failures, gpus, drivers, problems = [], [], [], []
    for line in text.splitlines():
        if not line.strip():
            continue
        failure = _failure(line)
        if failure:
            failures.append(failure)
            continue
        row = [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
        if _is_header(row):
            continue
        gpu, driver, problem = _row(row)
        problems += problem
        drivers += [driver] if driver else []
        if gpu:
            gpus.append(gpu)
    return Reading(
        tuple(gpus), drivers[0] if drivers else None, None, _unique([*failures, *problems, *_disagreeing(drivers)])
    )


def parse_xml(text: str) -> Reading:
    """Return the cards of ``nvidia-smi -q -x``; a card in MIG mode is given by its slices."""
    try:
        log = ET.fromstring(text.strip())  # noqa: S314 - the text is the driver's own tool's, read locally
    except ET.ParseError:
        failure = _failure(text)
        return Reading(problems=(failure or "the XML of nvidia-smi cannot be read",))
    gpus, problems = [], []
    for element in log.iter("gpu"):
        found, problem = _element(element)
        gpus += found
        problems += problem
    attached = _text(log, "attached_gpus")
    if not gpus and (attached or "0") == "0":
        problems.append(NO_DEVICES)
    elif not gpus:
        problems.append(f"nvidia-smi counts {attached} cards but lists none that can be read; its XML has changed")
    return Reading(tuple(gpus), _text(log, "driver_version"), _text(log, "cuda_version"), _unique(problems))


def _failure(text: str) -> str | None:
    return next((sentence for pattern, sentence in _FAILURES if re.search(pattern, text, re.IGNORECASE)), None)


def _is_header(row: list[str]) -> bool:
    """A header has words in every column and a bare number in none; a card has at least a memory size or a driver."""
    return len(row) > 1 and not any(
        _DRIVER.fullmatch(cell) or _CAPABILITY.fullmatch(cell) or _MEMORY.fullmatch(cell) or _MISSING.fullmatch(cell)
        for cell in row
    )


def _row(row: list[str]) -> tuple[Gpu | None, str | None, list[str]]:
    drivers = [cell for cell in row if _DRIVER.fullmatch(cell)]
    capabilities = [cell for cell in row if _CAPABILITY.fullmatch(cell) and cell not in drivers]
    sizes = [cell for cell in row if _MEMORY.fullmatch(cell)]
    used = {*drivers, *capabilities, *sizes}
    names = [cell for cell in row if cell not in used and not _MISSING.fullmatch(cell) and re.search(r"[A-Za-z]", cell)]
    if not used and len(row) == 1:
        return None, None, [f"nvidia-smi printed a line that is no card: {row[0][:80]!r}"]
    if not names and row == drivers:
        return None, drivers[0], []
    problems = [] if names else [f"nvidia-smi lists a card without a name: {', '.join(row)[:80]!r}"]
    gpu = Gpu(names[0] if names else UNNAMED, _mib(sizes[0]) if sizes else None, _capability(*capabilities[:1]))
    return gpu, drivers[0] if drivers else None, problems


def _element(element: ET.Element) -> tuple[list[Gpu], list[str]]:
    name = _text(element, "product_name")
    problems = []
    if name is None:
        keys = ", ".join(child.tag for child in list(element)[:6])
        problems.append(f"nvidia-smi lists a card whose name could not be read (no product_name; it has {keys})")
    name = name or UNNAMED
    capability = _capability(_text(element, "compute_cap") or _text(element, "gpu_compute_cap") or "")
    slices = [
        Gpu(f"{name} MIG slice", _mib(_text(part, "fb_memory_usage/total")), capability)
        for part in element.iter("mig_device")
    ]
    if slices:
        return slices, problems
    memory = _mib(_text(element, "fb_memory_usage/total"))
    if memory is None:
        problems.append(f"nvidia-smi does not tell the memory of {name}")
    return [Gpu(name, memory, capability)], problems


def _text(element: ET.Element, path: str) -> str | None:
    text = (element.findtext(path) or "").strip()
    return None if not text or _MISSING.fullmatch(text) else text


def _mib(text: str | None) -> int | None:
    match = _MEMORY.fullmatch(text or "")
    return int(match[1]) if match else None


def _capability(text: str = "") -> tuple[int, int] | None:
    match = _CAPABILITY.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else None


def _disagreeing(drivers: list[str]) -> Iterator[str]:
    if len(set(drivers)) > 1:
        versions = ", ".join(sorted(set(drivers)))
        yield f"nvidia-smi gives more than one driver version ({versions}); the first one is used"


def _unique(sentences: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))
