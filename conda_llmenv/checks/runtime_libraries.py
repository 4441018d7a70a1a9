"""The shared libraries that are really loaded: from the environment, one OpenMP, and no newer C library asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from packaging.version import Version

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware.versions import parse
from conda_llmenv.model import Finding, Level, Status

CUDA_FAMILIES = frozenset(
    ("cudart", "nvJitLink", "nvrtc", "cublas", "cublasLt", "cudnn", "nccl", "cusparse", "cusolver", "cufft", "curand")
)
"""Libraries that torch was built with one version of: any other may lack a symbol."""

OPENMP = frozenset(("gomp", "iomp5", "omp"))

OURS_IF_THERE = frozenset(("stdc++", "gomp", "iomp5", "omp", "mkl_rt", "mkl_core"))
"""Libraries of the system's that are wrong only where the environment has its own."""

MANYLINUX = {"manylinux1": Version("2.5"), "manylinux2010": Version("2.12"), "manylinux2014": Version("2.17")}
"""The C library behind the old names of platform tags (PEP 600)."""

Library = Mapping[str, str]


def library_origin(scene: Scene) -> Finding:
    """Judge where libraries come from: what is loaded from elsewhere, what would be, and what is there twice."""
    seen = scene.values("loaded")
    found = [*_from_elsewhere(seen), *_rerouted(seen), *_copies(seen)]
    listed = _listed(seen)
    if not found:
        count = sum(_inside(one["path"], seen) for one in seen["loaded"])
        return Finding(Status.PASS, _count(count), detail=listed)
    found.sort(key=lambda one: one.status is not Status.FAIL)
    worst, *others = found
    more = tuple(f"also: {one.summary}" for one in others)
    return Finding(worst.status, worst.summary, worst.measured, worst.expected, worst.fix, (*more, *listed))


def _count(count: int) -> str:
    return f"no library that matters comes from outside the environment ({count} loaded from it)"


def _inside(path: str, seen: Mapping[str, Any]) -> bool:
    return path.startswith(f"{seen['prefix']}/")


def _listed(seen: Mapping[str, Any]) -> tuple[str, ...]:
    """Every copy of the libraries of interest, the loaded ones marked."""
    loaded = {one["path"] for one in seen["loaded"]}
    elsewhere = {one["path"]: one for place in seen["searched"] for one in place["libraries"]}
    everything = {one["path"] for one in seen["copies"]} | loaded | set(elsewhere)
    families = {one["family"] for one in [*seen["copies"], *seen["loaded"], *elsewhere.values()]}
    names = sorted(everything, key=lambda path: (path.rpartition("/")[2], path))
    marked = (f"{path}{' (loaded)' if path in loaded else ''}" for path in names)
    return tuple(marked) if families else ()


def _from_elsewhere(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what is loaded from outside; the driver's own libraries belong there."""
    own = {one["family"] for one in seen["copies"]}
    for one in seen["loaded"]:
        if _inside(one["path"], seen) or one["family"] == "cuda":
            continue
        strange = one["family"] in CUDA_FAMILIES
        if not strange and one["family"] not in OURS_IF_THERE & own:
            continue
        variable = _variable_of(one["path"], seen)
        through = f" through {variable}" if variable else ""
        text = f"{_name(one)} is loaded from {one['path']}{through}, not from the environment"
        status = Status.FAIL if strange else Status.WARN
        fix = f"unset {variable}" if variable else ""
        yield Finding(status, text, one["path"], f"below {seen['prefix']}", fix)


def _variable_of(path: str, seen: Mapping[str, Any]) -> str:
    """Return the variable through which a library is found, an empty string where none leads to it."""
    for place in seen["searched"]:
        if any(one["path"] == path for one in place["libraries"]):
            return str(place["variable"])
    return ""


def _rerouted(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a warning for a variable that would put another library of CUDA before that of the environment."""
    loaded = {one["path"] for one in seen["loaded"]}
    for place in seen["searched"]:
        strange = [
            one
            for one in place["libraries"]
            if one["family"] in CUDA_FAMILIES and not _inside(one["path"], seen) and one["path"] not in loaded
        ]
        if strange:
            paths = ", ".join(one["path"] for one in strange[:3])
            text = f"{place['variable']} leads to {_name(strange[0])} in {place['entry'] or 'the current folder'}"
            expected = f"no library of CUDA in {place['variable']}"
            yield Finding(Status.WARN, text, paths, expected, f"unset {place['variable']}")


def _copies(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a warning for each library of CUDA that the environment has twice under one name."""
    by_name: dict[str, list[str]] = {}
    for one in seen["copies"]:
        if one["family"] in CUDA_FAMILIES:
            by_name.setdefault(_name(one), []).append(one["path"])
    loaded = {one["path"] for one in seen["loaded"]}
    for name, paths in by_name.items():
        if len(paths) > 1:
            which = next((path for path in paths if path in loaded), "")
            used = f"{which} is loaded" if which else "none of them is loaded yet"
            text = f"the environment has {len(paths)} copies of {name}: {used}"
            fix = "keep the one that came with torch, and remove the package that brought the other"
            yield Finding(Status.WARN, text, ", ".join(paths), "one copy", fix)


def _name(one: Library) -> str:
    """Return the name by which the dynamic linker asks for a library: ``libnccl.so.2``."""
    major = one["version"].partition(".")[0]
    return f"lib{one['family']}.so{f'.{major}' if major else ''}"


def openmp(scene: Scene) -> Finding:
    """Judge the OpenMP runtimes in one process: each has a pool of threads of its own, and some end the program."""
    seen = scene.values("loaded")
    loaded = [one["path"] for one in seen["loaded"] if one["family"] in OPENMP]
    excuse = seen["kmp_duplicate_lib_ok"] or scene.variables.get("KMP_DUPLICATE_LIB_OK", "")
    if excuse and excuse.lower() not in {"0", "false", "no", "off"}:
        return Finding(
            Status.FAIL,
            f"KMP_DUPLICATE_LIB_OK={excuse} lets two OpenMP runtimes run side by side: results may be silently wrong",
            measured=f"KMP_DUPLICATE_LIB_OK={excuse}",
            expected="not set",
            fix="unset KMP_DUPLICATE_LIB_OK",
            detail=tuple(loaded),
        )
    if len(loaded) > 1:
        names = " and ".join(dict.fromkeys(path.rpartition("/")[2] for path in loaded))
        return Finding(
            Status.WARN,
            f"{len(loaded)} OpenMP runtimes are loaded into one process: {names}",
            measured=", ".join(loaded),
            expected="one OpenMP runtime",
            fix="take torch and NumPy from one source: both from conda-forge or both from PyPI",
            detail=tuple(loaded),
        )
    return Finding(Status.PASS, f"one OpenMP runtime: {loaded[0]}" if loaded else "no OpenMP runtime is loaded")


def glibc(scene: Scene) -> Finding:
    """Judge the C library here against what wheels and conda's torch were built for."""
    seen = scene.values("glibc")
    here = parse(seen["glibc"])
    if here is None:
        return Finding(Status.SKIP, "this is not a GNU C library")
    asked = [*_asked_by_wheels(seen["wheels"]), *_asked_by_conda(seen["conda"])]
    if not asked:
        return Finding(Status.PASS, f"nothing installed asks for a particular C library; here is glibc {here}")
    most, name = max(asked)
    if most <= here:
        return Finding(Status.PASS, f"glibc {here} is new enough: {name} asks for {most}", f"{here}", f">={most}")
    wrong = sorted((name for needed, name in asked if needed > here))
    return Finding(
        Status.FAIL,
        f"{name} was built for glibc {most}, and this machine has {here}",
        measured=f"glibc {here}",
        expected=f"glibc {most} or newer",
        fix=f"use a machine with glibc {most}, or older builds: CONDA_OVERRIDE_GLIBC={here} llmenv create …",
        detail=tuple(wrong),
    )


def _asked_by_wheels(wheels: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Version, str]]:
    """Yield the C library each wheel was built for: a wheel with several tags runs where the least of them does."""
    for wheel in wheels:
        known = [found for tag in wheel["tags"] if (found := _of_tag(tag))]
        if known:
            yield min(known), f"{wheel['name']} {wheel['version']}"


def _of_tag(tag: str) -> Version | None:
    match = re.match(r"manylinux_(\d+)_(\d+)_", tag)
    return Version(f"{match[1]}.{match[2]}") if match else MANYLINUX.get(tag.partition("_")[0])


def _asked_by_conda(packages: Mapping[str, str]) -> Iterator[tuple[Version, str]]:
    for name, spec in packages.items():
        match = re.search(r">=\s*([\d.]+)", spec)
        needed = parse(match[1].rstrip(".")) if match else None
        if needed:
            yield needed, f"conda's {name}"


CHECKS = (
    Check(
        "library-origin",
        "libraries come from the environment",
        "runtime",
        Level.QUICK,
        library_origin,
        fix="unset LD_LIBRARY_PATH LD_PRELOAD",
        probe="runtime",
        reads="loaded",
        torch=True,
    ),
    Check(
        "openmp",
        "one OpenMP runtime is loaded",
        "runtime",
        Level.QUICK,
        openmp,
        fix="unset KMP_DUPLICATE_LIB_OK",
        probe="runtime",
        reads="loaded",
        torch=True,
    ),
    Check("glibc", "the C library is new enough", "runtime", Level.FULL, glibc, probe="runtime"),
)
