"""torch's build is the one that is meant: CUDA where a card is to be used, of the major of the rest, with NCCL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.runtime_cards import wheel_fix
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware.versions import parse
from conda_llmenv.model import Finding, Level, Status

_SUFFIXED = re.compile(r"nvidia-[a-z0-9-]+?-cu(\d\d)")


def torch_build(scene: Scene) -> Finding:
    """Judge what torch was built for; the first thing that is wrong decides, the rest is told with it."""
    seen = scene.values("torch-import")
    found = [
        *_kind(seen, scene),
        *_other_version(seen, scene),
        *_major(seen, scene),
        *_nccl(seen, scene),
        *_debug(seen),
    ]
    detail = _facts(seen)
    if not found:
        return Finding(
            Status.PASS, f"{words(seen)} is the build that is meant here", measured=words(seen), detail=detail
        )
    found.sort(key=lambda one: one.status is not Status.FAIL)
    worst, *others = found
    more = tuple(f"also: {one.summary}" for one in others)
    return Finding(worst.status, worst.summary, worst.measured, worst.expected, worst.fix, (*more, *detail))


def words(seen: Mapping[str, Any]) -> str:
    """Return torch's version and what it was built for."""
    version = str(seen["version"]).partition("+")[0]
    if seen["cuda"]:
        return f"torch {version} for CUDA {seen['cuda']}"
    return f"torch {version} for ROCm {seen['hip']}" if seen["hip"] else f"torch {version}, a CPU build"


def _kind(seen: Mapping[str, Any], scene: Scene) -> Iterator[Finding]:
    if seen["hip"]:
        if scene.cuda_tier:
            text = f"tier {scene.tier} is for a card of NVIDIA's, and torch is built for ROCm {seen['hip']}"
            yield Finding(Status.FAIL, text, words(seen), "a CUDA build", _cuda_fix(seen, scene))
        return
    if not seen["cuda"] and (scene.cuda_tier or (scene.tier is None and scene.has_gpu)):
        status = Status.FAIL if scene.cuda_tier else Status.WARN
        why = f"tier {scene.tier} is for a card" if scene.cuda_tier else f"this machine has {scene.host.gpus[0].name}"
        text = f"torch is a CPU build, and {why}"
        yield Finding(status, text, _where_from(seen, scene), "a CUDA build", _cuda_fix(seen, scene))
    if seen["cuda"] and scene.tier is not None and not scene.cuda_tier:
        text = f"torch is built for CUDA {seen['cuda']}, and tier {scene.tier} is for machines without a card"
        fix = f"create the environment for another tier, or take the CPU build: {_pip(seen, scene, 'cpu')}"
        yield Finding(Status.WARN, text, _where_from(seen, scene), "a CPU build", fix)


def _cuda_fix(seen: Mapping[str, Any], scene: Scene) -> str:
    """Solve a torch of conda anew for its tier, which refuses CPU builds; take pip's from the index for this driver."""
    conda = scene.values("installed").get("conda_torch", ())
    if conda:
        tier = scene.tier or "auto"
        return f"make the environment again for its tier: `llmenv create … --tier {tier} -p {scene.prefix} -y`"
    found = wheel_fix(str(seen["version"]), scene)
    return found or _pip(seen, scene, "cu128")


def _pip(seen: Mapping[str, Any], scene: Scene, variant: str) -> str:
    version = str(seen["version"]).partition("+")[0]
    url = scene.tables.index_url(variant)
    return f"{scene.prefix}/bin/python -m pip install --force-reinstall torch=={version} --index-url {url}"


def _where_from(seen: Mapping[str, Any], scene: Scene) -> str:
    infos = scene.values("installed").get("torch_infos", ())
    by = next((info["installer"] for info in infos if info["installer"]), "")
    conda = ", ".join(scene.values("installed").get("conda_torch", ()))
    return f"torch {seen['version']}{f', installed by {by}' if by else ''}{f'; conda has {conda}' if conda else ''}"


def _other_version(seen: Mapping[str, Any], scene: Scene) -> Iterator[Finding]:
    """What is imported and what the metadata say differ where one installation was laid over another."""
    noted, there = parse(scene.values("installed").get("torch")), parse(str(seen["version"]))
    if noted and there and noted.public != there.public:
        text = f"torch {there} is imported, but its metadata are those of {noted}"
        fix = f"{scene.prefix}/bin/python -m pip install --force-reinstall torch=={noted}"
        yield Finding(Status.FAIL, text, str(there), str(noted), fix)


def _major(seen: Mapping[str, Any], scene: Scene) -> Iterator[Finding]:
    """The libraries of CUDA beside torch have to be of its major: none of them is one too few."""
    cuda = parse(seen["cuda"])
    if cuda is None:
        return
    installed = scene.values("installed")
    beside = {number: name for name in installed.get("versions", {}) if (number := _suffix(name))}
    if beside and cuda.major not in beside:
        text = f"torch is built for CUDA {cuda}, and only libraries of CUDA {max(beside)} are installed"
        fix = f"{scene.prefix}/bin/python -m pip install --force-reinstall torch=={seen['version']}"
        yield Finding(Status.FAIL, text, beside[max(beside)], f"libraries of CUDA {cuda.major}", fix)
    conda = parse(str(installed.get("conda", {}).get("cuda-version", "")).partition(" ")[0])
    if conda and conda.major != cuda.major and installed.get("conda_torch"):
        text = f"torch is built for CUDA {cuda}, and conda's cuda-version is {conda}"
        yield Finding(
            Status.FAIL, text, f"cuda-version {conda}", f"cuda-version {cuda.major}.*", _cuda_fix(seen, scene)
        )


def _suffix(name: str) -> int:
    match = _SUFFIXED.fullmatch(name)
    return int(match[1]) if match else 0


def _nccl(seen: Mapping[str, Any], scene: Scene) -> Iterator[Finding]:
    if seen["cuda"] and "nccl" not in seen["backends"]:
        status = Status.FAIL if scene.cuda_tier else Status.WARN
        text = "torch has no NCCL built in: no training on several cards"
        yield Finding(status, text, ", ".join(seen["backends"]) or "none", "nccl, gloo", _cuda_fix(seen, scene))
    elif "gloo" not in seen["backends"] and not seen["cuda"]:
        text = "torch has no backend for several processes built in"
        yield Finding(Status.WARN, text, ", ".join(seen["backends"]) or "none", "gloo", _pip(seen, scene, "cpu"))


def _debug(seen: Mapping[str, Any]) -> Iterator[Finding]:
    if seen["debug"]:
        yield Finding(Status.WARN, "torch is a debug build: many times slower", "debug", "a release build")


def _facts(seen: Mapping[str, Any]) -> tuple[str, ...]:
    facts = {"cuDNN": seen["cudnn"], "NCCL": seen["nccl"], "code for": " ".join(seen["archs"])}
    parts = [f"{name} {value}" for name, value in facts.items() if value]
    parts.append(f"backends {' '.join(seen['backends']) or 'none'}")
    return ("; ".join(parts),)


CHECKS = (
    Check(
        "torch-build",
        "torch is the build that is meant",
        "runtime",
        Level.QUICK,
        torch_build,
        probe="runtime",
        reads="torch-import",
        needs=("duplicates", "torch-import"),
        torch=True,
    ),
)
