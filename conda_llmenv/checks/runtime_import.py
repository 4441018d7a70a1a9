"""torch can be imported, from the environment itself, and understands its NumPy; else the reason in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status


class Cause(Struct, frozen=True):
    """An error text, what it means and what to do; ``{prefix}`` and ``{found}`` (the first group) are filled in."""

    text: str
    means: str
    fix: str


CAUSES = (
    Cause(
        r"undefined symbol: (_*nvJitLink\w*)",
        "another libnvJitLink than the one torch was built with is found first",
        "unset LD_LIBRARY_PATH",
    ),
    Cause(
        r"undefined symbol: (nccl\w+)",
        "another NCCL than the one torch was built with is loaded: there are several, or LD_LIBRARY_PATH leads to one",
        "{prefix}/bin/python -m pip list | grep -i nccl, keep the one that torch requires; then unset LD_LIBRARY_PATH",
    ),
    Cause(
        r"undefined symbol: (iJIT_\w+)",
        "this MKL is newer than torch's build can use",
        'ask for the spec "mkl<2024.1" beside pytorch',
    ),
    Cause(
        r"undefined symbol: (_ZN?K?(?:3c10|2at|5torch)\w*)",
        "ABI mismatch: a library was compiled against another torch",
        "rebuild the package whose file is named, against the torch that is installed",
    ),
    Cause(
        r"version [`'](GLIBC_[\d.]+)'? not found",
        "the C library of this machine is older than the one torch was built for",
        "use a machine with a newer Linux, or an older torch",
    ),
    Cause(
        r"version [`'](GLIBCXX_[\d.]+)'? not found",
        "an older libstdc++ than the environment's own was found first",
        "unset LD_LIBRARY_PATH",
    ),
    Cause(
        r"(lib(?:cudart|cublas|cudnn|nccl|nvrtc|cusparse|cufft|curand|cusolver|nvJitLink|cupti)[\w.-]*): cannot open",
        "a library of CUDA that torch needs is not installed in the environment",
        "{prefix}/bin/python -m pip check names what is missing; install it, or torch anew with its requirements",
    ),
    Cause(
        r"(failed to map segment|cannot allocate memory)",
        "the library cannot be mapped: memory or a limit (ulimit -v) is used up, or its folder is noexec",
        "ulimit -v unlimited",
    ),
)
"""What the dynamic linker says where torch's libraries do not fit, and what it means."""


def cause_of(error: str) -> tuple[Cause, str] | None:
    """Return what an error text of the dynamic linker means with the symbol or file in it, None for an unknown one."""
    for cause in CAUSES:
        match = re.search(cause.text, error)
        if match:
            return cause, match[1]
    return None


def torch_import(scene: Scene) -> Finding:
    """Judge the import itself; a module from outside the environment is as wrong as none."""
    seen = scene.values("torch-import")
    if seen["failed"]:
        return _failed(seen, scene)
    inside = str(seen["file"]).startswith(f"{scene.values('loaded').get('prefix', scene.prefix)}/")
    if not inside and not str(seen["file"]).startswith(f"{scene.prefix}/"):
        return Finding(
            Status.FAIL,
            f"torch comes from {seen['file']}, outside the environment",
            measured=seen["file"],
            expected=f"below {scene.prefix}",
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
    known = cause_of(error)
    first = (error.splitlines() or [error])[0]
    clean = seen.get("clean") or {}
    means = f"{known[0].means}: {first}" if known else f"torch cannot be imported: {first}"
    fix = known[0].fix.format(prefix=scene.prefix) if known else ""
    detail: tuple[str, ...] = tuple(error.splitlines()[1:6])
    if clean.get("works"):
        names = " ".join(clean["dropped"])
        set_to = ", ".join(f"{name}={scene.environ[name]}" for name in clean["dropped"] if name in scene.environ)
        detail = (*detail, f"without {names} it can be imported{f' ({set_to})' if set_to else ''}")
        fix = f"unset {names}"
    elif clean:
        detail = (*detail, f"without {' '.join(clean['dropped'])} it fails too: {clean['error']}")
    return Finding(Status.FAIL, means, measured=first, expected="import torch works", fix=fix, detail=detail)


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
