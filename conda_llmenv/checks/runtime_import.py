"""torch can be imported, from the environment itself, and understands its NumPy; else the reason in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from conda_llmenv.checks.causes import known_fault
from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status

ABI = "extension-abi"
"""The known fault of a library that was compiled against another torch, which people know by another name."""


class Cause(Struct, frozen=True):
    """What an error means: in a sentence, why, and a next step in which ``{prefix}`` is to be filled in."""

    means: str
    why: str
    fix: str


def cause_of(error: str) -> tuple[Cause, str] | None:
    """Return what the table of known faults says of an error, with the line that shows it; None for an unknown one."""
    known = known_fault((error,))
    if known is None:
        return None
    means = f"ABI mismatch: {known.symptom}" if known.rule.id == ABI else known.symptom
    action = known.action.replace("{", "{{").replace("}", "}}")
    return Cause(means, known.cause, action.replace("python -m pip", "{prefix}/bin/python -m pip")), known.text


def torch_import(scene: Scene) -> Finding:
    """Judge the import itself; a module from outside the environment is as wrong as none."""
    seen = scene.values("torch-import")
    if seen["failed"]:
        return _failed(seen, scene)
    if not str(seen["file"]).startswith(f"{seen['prefix']}/"):
        return Finding(
            Status.FAIL,
            f"torch comes from {seen['file']}, outside the environment",
            measured=seen["file"],
            expected=f"below {seen['prefix']}",
            fix=f"find the .pth file that leads there: grep -l / {scene.prefix}/lib/python*/site-packages/*.pth",
        )
    return Finding(
        Status.PASS,
        f"torch {seen['version']} is imported in {seen['seconds']:.1f} s",
        measured=f"{seen['seconds']:.1f} s",
        detail=tuple(f"warned: {text}" for text in seen["warnings"]),
        figures={"import_torch_s": float(seen["seconds"])},
    )


def _failed(seen: Mapping[str, Any], scene: Scene) -> Finding:
    """An import that works without rerouted libraries still fails here: whoever trains from this shell has them."""
    error = str(seen["failed"])
    first = (error.splitlines() or [error])[0]
    known = cause_of(error)
    means = known[0].means if known else first
    fix = known[0].fix.format(prefix=scene.prefix) if known else ""
    detail = (*((f"why: {known[0].why}",) if known else ()), *error.splitlines()[1:6])
    clean = seen.get("clean") or {}
    if clean.get("works"):
        names = " ".join(clean["dropped"])
        set_to = ", ".join(f"{name}={scene.environ[name]}" for name in clean["dropped"] if name in scene.environ)
        detail = (*detail, f"without {names} it can be imported{f' ({set_to})' if set_to else ''}")
        fix = f"unset {names}"
    elif clean:
        detail = (*detail, f"without {' '.join(clean['dropped'])} it fails too: {clean['error']}")
    summary = f"torch cannot be imported: {means.removeprefix('torch cannot be imported: ')}"
    return Finding(Status.FAIL, summary, measured=first, expected="import torch works", fix=fix, detail=detail)


def numpy_abi(scene: Scene) -> Finding:
    """Judge whether arrays go from NumPy to torch and back."""
    seen = scene.values("numpy-abi")
    if seen.get("absent"):
        return Finding(Status.SKIP, "NumPy is not installed")
    told = str(seen["failed"]) or next(iter(seen.get("warnings", ())), "")
    if not told:
        return Finding(Status.PASS, f"torch and NumPy {seen['numpy']} exchange arrays")
    first = told.splitlines()[0]
    numpy = f"NumPy {seen['numpy']}" if seen.get("numpy") else "NumPy"
    old = "compiled using NumPy 1" in told or "_ARRAY_API" in told or "not available" in told
    return Finding(
        Status.FAIL if seen["failed"] else Status.WARN,
        f"torch and {numpy} do not fit: {first}",
        measured=first,
        expected="an array goes to torch and back unchanged",
        fix=f'{scene.prefix}/bin/python -m pip install "numpy<2"' if old else "",
    )


CHECKS = (
    Check(
        "torch-import",
        "torch can be imported",
        "runtime",
        Level.QUICK,
        torch_import,
        fix="look at the first line of the error: it names the file that cannot be loaded",
        probe="runtime",
        timeout=180.0,
        torch=True,
    ),
    Check(
        "numpy-abi",
        "torch and NumPy exchange arrays",
        "runtime",
        Level.QUICK,
        numpy_abi,
        fix="install a NumPy of the major version that torch was built for",
        probe="runtime",
        needs=("torch-import",),
        torch=True,
    ),
)
