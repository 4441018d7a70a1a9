"""What packages require of one another is there, and releases that belong together are paired."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware.versions import minor, parse
from conda_llmenv.model import Finding, Level, Status

SHOWN = 15

TORCH_PINS = ("nvidia-", "cuda-", "triton")
"""Beginnings of the names that torch's wheels ask for by exact version, since they were built with these."""

CHECKED_AT_IMPORT = ("tokenizers", "huggingface-hub", "safetensors", "regex")
"""What transformers compares the version of when it is imported, and refuses to start on."""

FREE_TORCHAUDIO = Version("2.11")
"""From this torch on torchaudio is no longer built for one torch release only."""

_FLASH = re.compile(r"cu(?P<cuda>\d+)torch(?P<torch>\d+\.\d+)cxx11abi(?P<abi>true|false)", re.IGNORECASE)
"""The local version of flash-attn's prebuilt wheels: CUDA, torch series and C++ ABI they were compiled for."""


class Unmet:
    """A requirement that what is installed does not meet."""

    def __init__(self, owner: Mapping[str, Any], requirement: Requirement, there: str | None) -> None:
        self.owner = str(owner["name"])
        self.owner_version = str(owner["version"])
        self.requirement = requirement
        self.name = canonicalize_name(requirement.name)
        self.there = there

    @property
    def text(self) -> str:
        """What pip would say of it."""
        bare = f"{self.requirement.name}{self.requirement.specifier}"
        there = f"{self.there} is installed" if self.there else "it is not installed"
        return f"{self.owner} {self.owner_version} requires {bare}, and {there}"

    @property
    def breaks_torch(self) -> bool:
        """Whether torch was built with what is missing here."""
        return self.owner == "torch" and self.name.startswith(TORCH_PINS)

    @property
    def spec(self) -> str:
        """The requirement as a quoted argument of pip."""
        return f'"{self.requirement.name}{self.requirement.specifier}"'


def unmet(seen: Mapping[str, Any]) -> list[Unmet]:
    """Return every requirement, extras left out, that is not met."""
    versions = {one["name"]: one["version"] for one in seen["distributions"]}
    markers = {**seen["markers"], "extra": ""}
    found = []
    for owner in seen["distributions"]:
        for requirement in _parsed(owner["requires"]):
            there = versions.get(canonicalize_name(requirement.name))
            if _applies(requirement, markers) and not _meets(requirement, there):
                found.append(Unmet(owner, requirement, there))
    return found


def _parsed(lines: Iterable[str]) -> Iterator[Requirement]:
    """Yield the requirements that can be read: old packages wrote some that no tool has read for years."""
    yield from (requirement for line in lines if (requirement := _read(line)))


def _read(line: str) -> Requirement | None:
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def _applies(requirement: Requirement, markers: Mapping[str, str]) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(dict(markers))


def _meets(requirement: Requirement, there: str | None) -> bool:
    if there is None:
        return False
    version = parse(there)
    return version is None or requirement.specifier.contains(version, prereleases=True)


def pip_check(scene: Scene) -> Finding:
    """Judge all requirements: what torch was built with fails, any other is a warning: imports will judge it."""
    seen = scene.values("requirements")
    wrong = unmet(seen)
    if not wrong:
        return Finding(Status.PASS, f"the requirements of {len(seen['distributions'])} distributions are met")
    wrong.sort(key=lambda one: (not one.breaks_torch, one.there is None, one.owner))
    worst = wrong[0]
    return Finding(
        Status.FAIL if worst.breaks_torch else Status.WARN,
        worst.text,
        measured=f"{len(wrong)} requirements are not met",
        expected="none",
        fix=f"{scene.prefix}/bin/python -m pip install {worst.spec}",
        detail=tuple(one.text for one in wrong[:SHOWN]),
    )


def pairs(scene: Scene) -> Finding:
    """Judge releases that are compiled or checked against one another."""
    seen = scene.values("requirements")
    versions = {one["name"]: one["version"] for one in seen["distributions"]}
    torch = parse(scene.values("torch-import").get("version")) or parse(versions.get("torch"))
    found = [*_checked(seen), *(_of_torch(torch, versions, scene) if torch else ())]
    if not found:
        known = [name for name in ("torchvision", "torchaudio", "transformers", "flash-attn") if name in versions]
        what = ", ".join(f"{name} {versions[name]}" for name in known)
        return Finding(
            Status.PASS, f"{what} fit torch {torch}" if known else "nothing that has to be paired is installed"
        )
    found.sort(key=lambda one: one.status is not Status.FAIL)
    worst, *others = found
    more = tuple(f"also: {one.summary}" for one in others)
    return Finding(worst.status, worst.summary, worst.measured, worst.expected, worst.fix, more)


def _of_torch(torch: Version, versions: Mapping[str, str], scene: Scene) -> Iterator[Finding]:
    for name in ("torchvision", "torchaudio"):
        if (there := parse(versions.get(name))) is not None:
            yield from _companion(name, there, torch, scene)
    if "flash-attn" in versions:
        yield from _flash_attn(versions["flash-attn"], torch, scene)


def _companion(name: str, there: Version, torch: Version, scene: Scene) -> Iterator[Finding]:
    """Yield what is wrong with torchvision or torchaudio: another release's, or another variant of the same release."""
    release = scene.tables.torch_release(torch)
    wanted = getattr(release, name) if release else None
    breaks = "operator torchvision::nms does not exist" if name == "torchvision" else "undefined symbol"
    fix = f"{scene.prefix}/bin/python -m pip install --force-reinstall --no-deps {name}=={wanted or minor(there)}.*"
    if wanted is not None and minor(there) != wanted:
        free = name == "torchaudio" and minor(torch) >= FREE_TORCHAUDIO
        text = f'{name} {there} is not the one of torch {torch}, which is {wanted} ("{breaks}")'
        yield Finding(Status.WARN if free else Status.FAIL, text, f"{name} {there}", f"{name} {wanted}", fix)
    elif there.local and torch.local and there.local != torch.local:
        text = f'{name} {there} is built for another variant than torch {torch} ("{breaks}")'
        yield Finding(Status.FAIL, text, there.local, torch.local, fix)


def _checked(seen: Mapping[str, Any]) -> Iterator[Finding]:
    for one in unmet(seen):
        if one.owner == "transformers" and one.name in CHECKED_AT_IMPORT:
            fix = f"pip install {one.spec}"
            there = f"{one.name} {one.there}" if one.there else "not installed"
            text = f"{one.text}: transformers refuses to be imported"
            yield Finding(Status.FAIL, text, there, f"{one.name}{one.requirement.specifier}", fix)


def _flash_attn(version: str, torch: Version, scene: Scene) -> Iterator[Finding]:
    """Yield what the name of flash-attn's prebuilt wheel says that torch is not; a wheel built here says nothing."""
    match = _FLASH.search(version)
    if not match:
        return
    imported = scene.values("torch-import")
    cuda, abi = parse(imported.get("cuda")), imported.get("cxx11_abi")
    built = {"torch": match["torch"], "CUDA": match["cuda"][:2], "C++11 ABI": match["abi"].lower()}
    have = {
        "torch": str(minor(torch)),
        "CUDA": str(cuda.major) if cuda else built["CUDA"],
        "C++11 ABI": built["C++11 ABI"] if abi is None else str(abi).lower(),
    }
    wrong = [name for name, value in built.items() if have[name] != value]
    if wrong:
        text = f"flash-attn {version} was built for {_words(built, wrong)}, and here is {_words(have, wrong)}"
        fix = f"{scene.prefix}/bin/python -m pip install --force-reinstall --no-deps --no-build-isolation flash-attn"
        yield Finding(Status.FAIL, f"ABI mismatch: {text}", _words(built, wrong), _words(have, wrong), fix)


def _words(values: Mapping[str, str], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {values[name]}" for name in names)


CHECKS = (
    Check(
        "pip-check",
        "what packages require is installed",
        "runtime",
        Level.FULL,
        pip_check,
        probe="runtime",
        reads="requirements",
    ),
    Check(
        "pairs",
        "releases that belong together are paired",
        "runtime",
        Level.FULL,
        pairs,
        probe="runtime",
        reads="requirements",
        torch=True,
    ),
)
