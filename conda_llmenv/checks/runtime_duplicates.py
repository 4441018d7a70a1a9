"""Nothing is installed twice: one torch, one NCCL, one set of CUDA libraries, and every file has one owner."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status

_CUDA_WHEEL = re.compile(r"(?P<family>nvidia-[a-z0-9-]+?)-cu(?P<major>\d\d)")

ONE_FILE = frozenset(("nvidia-nccl", "nvidia-cudnn", "nvidia-cusparselt", "nvidia-nvshmem", "nvidia-cufile"))
"""Families whose library has one file name for every CUDA major: the last one installed overwrites the others."""

SHOWN = 12


def duplicates(scene: Scene) -> Finding:
    """Judge the list of what is installed; what can break torch is told first."""
    seen = scene.values("installed")
    found = [*_two_owners(seen, scene.prefix), *_same_file(seen, scene.prefix), *_several(seen, scene.prefix)]
    found += _majors(seen)
    if not found:
        return Finding(
            Status.PASS, f"each of {len(seen['names'])} distributions is installed once", detail=_leftovers(seen)
        )
    found.sort(key=lambda one: one.status is not Status.FAIL)
    worst, *others = found
    more = tuple(f"also: {one.summary}" for one in others)
    return Finding(
        worst.status,
        worst.summary,
        worst.measured,
        worst.expected,
        worst.fix,
        (*worst.detail, *more, *_leftovers(seen)),
    )


def _leftovers(seen: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"left over from an interrupted pip: {name}" for name in seen.get("leftovers", ()))


def _two_owners(seen: Mapping[str, Any], prefix: str) -> Iterator[Finding]:
    """Yield the finding where both conda and pip have installed torch: their libraries are mixed in one folder."""
    pip = [info for info in seen["torch_infos"] if not info["conda"]]
    if seen["conda_torch"] and pip:
        by = pip[0]["installer"] or "pip"
        yield Finding(
            Status.FAIL,
            f"torch is installed by conda ({seen['conda_torch'][0]}) and by {by} ({pip[0]['version']})",
            measured=f"{', '.join(seen['conda_torch'])}; {pip[0]['folder']}",
            expected="one of the two",
            fix=f"{prefix}/bin/python -m pip uninstall -y torch, then create the environment anew",
        )


def _same_file(seen: Mapping[str, Any], prefix: str) -> Iterator[Finding]:
    """Yield a finding for each family of NVIDIA's wheels that has overwritten itself."""
    for family, names in _families(seen).items():
        if len(names) > 1 and family in ONE_FILE:
            what = family.removeprefix("nvidia-")
            versions = [f"{name} {seen['versions'][name]}" for name in names]
            yield Finding(
                Status.FAIL,
                f"{' and '.join(versions)} are installed: they put their library into the same file",
                measured=f"{len(names)} distributions of {what}",
                expected="the one that torch requires",
                fix=f"{prefix}/bin/python -m pip uninstall -y {' '.join(names)}, then install the one torch requires",
            )


def _families(seen: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(seen["versions"]):
        match = _CUDA_WHEEL.fullmatch(name)
        found.setdefault(match["family"] if match else name, []).append(name)
    return {family: names for family, names in found.items() if family.startswith("nvidia-")}


def _several(seen: Mapping[str, Any], prefix: str) -> Iterator[Finding]:
    """Yield a finding for each name with several versions: which of them is imported is a matter of luck."""
    for name, infos in seen["several"].items():
        versions = list(dict.fromkeys(info["version"] for info in infos))
        if len(versions) > 1:
            yield Finding(
                Status.FAIL,
                f"{name} is installed {len(versions)} times: {' and '.join(versions)}",
                measured=", ".join(versions),
                expected="one version",
                fix=f"{prefix}/bin/python -m pip install --force-reinstall --no-deps {name}=={versions[-1]}",
                detail=tuple(info["folder"] for info in infos),
            )


def _majors(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a warning where libraries of two CUDA majors are installed: no file is lost, but the wrong one may load."""
    by_major: dict[str, list[str]] = {}
    for family, names in _families(seen).items():
        for name in names if family not in ONE_FILE else ():
            match = _CUDA_WHEEL.fullmatch(name)
            if match:
                by_major.setdefault(match["major"], []).append(name)
    if len(by_major) > 1:
        text = f"libraries of CUDA {' and '.join(sorted(by_major))} are installed side by side"
        detail = tuple(f"CUDA {major}: {', '.join(names)}" for major, names in sorted(by_major.items()))
        fix = "keep those of the CUDA that torch was built for, and uninstall the others with pip"
        yield Finding(Status.WARN, text, f"{len(by_major)} CUDA majors", "one CUDA major", fix, detail)


def record_overlap(scene: Scene) -> Finding:
    """Judge files that two distributions claim with different content: a shared library fails, the rest warns."""
    seen = scene.values("record-overlap")
    pairs = sorted(seen["pairs"], key=lambda pair: (-pair["libraries"], -pair["count"], pair["names"]))
    if not pairs:
        return Finding(Status.PASS, f"each of {seen['files']} files belongs to one distribution")
    worst = pairs[0]
    shown = next((file for file in worst["files"] if file["library"] or not worst["libraries"]), worst["files"][0])
    names = " and ".join(worst["names"])
    uninstall = f"{scene.prefix}/bin/python -m pip uninstall -y {' '.join(worst['names'])}"
    return Finding(
        Status.FAIL if worst["libraries"] else Status.WARN,
        f"{names} both own {shown['path']}",
        measured=f"{worst['count']} files with two owners, {worst['libraries']} of them shared libraries",
        expected="one owner a file",
        fix=f"{uninstall}, then install the one that is wanted",
        detail=tuple(_line(pair, file) for pair in pairs for file in pair["files"])[:SHOWN],
    )


def _line(pair: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    there = f": what is there is that of {file['there'][0]}" if file["there"] else ""
    return f"{file['path']} ({', '.join(pair['names'])}){there}"


CHECKS = (
    Check(
        "duplicates",
        "nothing is installed twice",
        "runtime",
        Level.QUICK,
        duplicates,
        fix="create the environment anew",
        probe="runtime",
        reads="installed",
    ),
    Check(
        "record-overlap",
        "every file has one owner",
        "runtime",
        Level.FULL,
        record_overlap,
        fix="uninstall one of the two",
        probe="runtime",
        timeout=60.0,
    ),
)
