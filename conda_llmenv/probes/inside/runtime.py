"""Looks at what is installed and what is really loaded: metadata first, then torch itself, imported once."""

from __future__ import annotations

from typing import Any, Callable, Dict

from . import distributions, importing, libraries, toolchain


def run(asked: Dict[str, Any], teller: Any) -> None:
    """Tell about each thing asked for, in the order asked."""
    for check in asked["checks"]:
        if check in LOOKS:
            teller.step(f"looking for {check}")
            with teller.looking(check) as values:
                LOOKS[check](values)


def _loaded(values: Dict[str, Any]) -> None:
    """Tell what is loaded once torch and NumPy are, as far as they can be."""
    values["failed"] = importing.attempt().failed
    libraries.loaded(values)


def _c_library(values: Dict[str, Any]) -> None:
    values["glibc"] = toolchain.c_library()
    distributions.wheel_tags(values)


LOOKS: Dict[str, Callable[[Dict[str, Any]], None]] = {
    "installed": distributions.installed,
    "records": distributions.records,
    "requirements": distributions.requirements,
    "record-overlap": distributions.overlaps,
    "torch-import": importing.imported,
    "torch-arch": importing.launched,
    "numpy-abi": importing.with_numpy,
    "loaded": _loaded,
    "glibc": _c_library,
    "nvcc": toolchain.compiler,
}
"""What this probe can look for."""
