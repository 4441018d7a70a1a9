"""Finds the shared libraries that decide whether torch works: those loaded, every copy, and those on search paths."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Dict, Iterable, Iterator, List

from . import distributions

NAME = re.compile(
    r"lib(?P<family>cuda|cudart|nvJitLink|nvrtc|cublas|cublasLt|cudnn|nccl|cusparse|cusolver|cufft|curand"
    r"|stdc\+\+|gomp|iomp5|omp|mkl_rt|mkl_core|openblas)"
    r"(?:-[0-9a-f]{6,}(?:-[0-9a-f]{6,})?|-r[\d.]+|p-r[\d.]+)?\.so(?:\.(?P<version>[\d.]+))?"
)
"""File names of interest, with or without the hash that ``auditwheel`` puts in, and without that of a mapping."""

SEARCHED = ("LD_LIBRARY_PATH", "LD_PRELOAD")
"""Variables by which a library from elsewhere is found first."""


def described(path: str) -> Dict[str, str]:
    """Return path, family and version suffix of a library of interest."""
    match = NAME.fullmatch(os.path.basename(path))
    return {
        "path": path,
        "family": match["family"] if match else "",
        "version": (match["version"] or "") if match else "",
    }


def of_interest(paths: Iterable[str]) -> List[Dict[str, str]]:
    """Return those of the paths that are libraries of interest, each file once."""
    real = {os.path.realpath(path): None for path in paths if NAME.fullmatch(os.path.basename(path))}
    return [described(path) for path in sorted(real) if NAME.fullmatch(os.path.basename(path))]


def mapped() -> List[str]:
    """Return the files mapped into this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:
        paths = (line[line.index("/") :].rstrip("\n") for line in stream if "/" in line)
        return sorted(set(paths))


def inside() -> List[str]:
    """Return the libraries in the folders where conda and pip put them."""
    folders = [os.path.join(sys.prefix, "lib")]
    for site in distributions.site_folders():
        folders += [os.path.join(site, "torch", "lib"), *_nvidia(os.path.join(site, "nvidia"))]
        folders += [entry.path for entry in os.scandir(site) if entry.name.endswith(".libs")]
    return [path for folder in folders for path in _listed(folder)]


def _nvidia(folder: str) -> Iterator[str]:
    for entry in os.scandir(folder) if os.path.isdir(folder) else ():
        yield os.path.join(entry.path, "lib")


def _listed(folder: str) -> List[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


def searched() -> List[Dict[str, Any]]:
    """Return each entry of the variables that reroute the search for libraries, with what of interest lies there."""
    found = []
    for variable in SEARCHED:
        separators = ":" if variable == "LD_LIBRARY_PATH" else "[: ]"
        text = os.environ.get(variable, "")
        for entry in re.split(separators, text) if text else ():
            there = [entry] if variable == "LD_PRELOAD" else _listed(entry or ".")
            found.append({"variable": variable, "entry": entry, "libraries": of_interest(there)})
    return [one for one in found if one["entry"] or one["libraries"]]


def loaded(values: Dict[str, Any]) -> None:
    """Tell which libraries of interest this process has loaded, every copy there is, and what reroutes the search."""
    values["loaded"] = of_interest(mapped())
    values["copies"] = of_interest(inside())
    values["searched"] = searched()
    values["kmp_duplicate_lib_ok"] = os.environ.get("KMP_DUPLICATE_LIB_OK", "")
    values["prefix"] = os.path.realpath(sys.prefix)
