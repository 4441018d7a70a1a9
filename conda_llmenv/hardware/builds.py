"""Reading the CUDA version and the kind of a build from build strings, names, specs and records."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable

from packaging.version import Version

from conda_llmenv.hardware.tables import Tables
from conda_llmenv.hardware.versions import minor, parse
from conda_llmenv.model import Record, Solution

_DOTTED = re.compile(r"(?:cuda|cu)-?(?P<major>\d{1,2})\.(?P<minor>\d+)")
_JOINED = re.compile(r"(?:cuda|cu)(?P<major>9|1\d)(?P<minor>\d)(?!\d)")
_CUDA = re.compile(r"(?:^|[_.-])(?:cuda|gpu|cu(?=\d))", re.IGNORECASE)
_CPU = re.compile(r"(?:^|[_.-])(?:cpu|mkl|eigen|openblas)", re.IGNORECASE)


class BuildKind(enum.Enum):
    """What a build runs on."""

    CPU = "cpu"
    CUDA = "cuda"
    OTHER = "other"


def cuda_in(text: str) -> Version | None:
    """Return the CUDA version in a build string or a name: ``cuda11.8``, ``cuda129``, ``cu121``, ``dgl-cuda11.1``."""
    match = _DOTTED.search(text) or _JOINED.search(text)
    return Version(f"{match['major']}.{match['minor']}") if match else None


def build_kind(record: Record) -> BuildKind:
    """Return what a framework's build runs on, by its build string, else by what it depends on."""
    if _CUDA.search(record.build):
        return BuildKind.CUDA
    depends = {spec.split()[0] for spec in record.depends}
    if depends & {"__cuda", "cuda-version", "cudatoolkit", "pytorch-cuda", "cuda-cudart"}:
        return BuildKind.CUDA
    if _CPU.search(record.build) or record.build == "cpu":
        return BuildKind.CPU
    return BuildKind.OTHER


def glob_kind(build: str) -> BuildKind | None:
    """Return the kind that a build glob of a spec chooses (``*cuda*``, ``cpu_*``), None if it chooses none."""
    bare = build.strip("*").lower()
    if "cpu" in bare:
        return BuildKind.CPU
    return BuildKind.CUDA if "cuda" in bare or "gpu" in bare or re.search(r"cu\d", bare) else None


def plan_cuda(solution: Solution, tables: Tables) -> tuple[Version, Record] | None:
    """Return the CUDA a solution's libraries are built for, and the record that tells.

    The framework's own build comes first: a ``cuda-version`` beside it may be newer (``pytorch-cuda=11.8`` pulls
    packages that ask for nvidia's ``cuda-version`` 12.x).
    """
    for record in _telling(solution, tables):
        built = cuda_in(record.build)
        if built:
            return built, record
        if record.name in tables.cuda_packages and (version := parse(record.version)):
            return minor(version), record
    return None


def _telling(solution: Solution, tables: Tables) -> Iterable[Record]:
    names = [framework.name for framework in tables.frameworks]
    names += ["libtorch", "pytorch-cuda", "cuda-version", "cudatoolkit", "cuda-cudart"]
    return (record for name in names if (record := solution.record(name)))
