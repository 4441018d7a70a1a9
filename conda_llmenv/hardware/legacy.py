"""CUDA packages of different generations in one environment, and releases that were never made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conda_llmenv.hardware.asked import CudaAsk, match_spec, origins_of, spellings
from conda_llmenv.hardware.card import span
from conda_llmenv.hardware.tables import CudaPackage, Tables
from conda_llmenv.hardware.versions import permits
from conda_llmenv.model import Change, EnvSpec, MergedSpec, Status, Verdict

LINK = "cuda"


def check_generations(asks: Sequence[CudaAsk], spec: EnvSpec, tables: Tables) -> tuple[Verdict, ...]:
    """Judge specs that speak about CUDA in more than one way: refuse what cannot hold, warn about the rest."""
    by_name = {ask.name: ask for ask in asks}
    old, version, metapackage = (by_name.get(name) for name in ("cudatoolkit", "cuda-version", "pytorch-cuda"))
    found = list(_missing(asks, spec, tables))
    if old and version:
        found.append(_two_generations(old, version, tables))
    if old and metapackage:
        found.append(_unused(old, metapackage))
    if version and metapackage and not set(version.allowed) & set(metapackage.allowed):
        found.append(_two_versions(version, metapackage))
    return tuple(found)


def _missing(asks: Sequence[CudaAsk], spec: EnvSpec, tables: Tables) -> Iterator[Verdict]:
    """Yield a refusal for each package asked for in a CUDA version it never had, such as ``cudatoolkit=12.1``."""
    known = {ask.name for ask in asks}
    for merged in spec.specs:
        package = tables.cuda_packages.get(merged.name)
        if package is None or merged.name in known:
            continue
        wanted = [cuda for cuda in tables.cuda_versions() if _wants(merged, spellings(cuda, tables))]
        if wanted:
            yield _no_release(merged, package, str(wanted[-1]))


def _wants(merged: MergedSpec, versions: Sequence[str]) -> bool:
    return all(permits(match_spec(text).version, versions) for text in merged.texts)


def _no_release(merged: MergedSpec, package: CudaPackage, wanted: str) -> Verdict:
    origins = origins_of(merged)
    exists = str(package.newest) if package.newest else ", ".join(map(str, package.versions))
    successor = package.successor or "cuda-version"
    return Verdict(
        "no-such-cuda",
        LINK,
        Status.FAIL,
        f"there is no {merged.name} for CUDA {wanted}: it {'ends with' if package.newest else 'exists for'} {exists}",
        detail=tuple(f"{part.value} at {part.origin.where}" for part in merged.parts),
        why=f"Newer CUDA is chosen with {successor}.",
        origins=origins,
        changes=(Change("spec", (f"{successor}={wanted}",), origins[-1], merged.name),),
    )


def _two_generations(old: CudaAsk, new: CudaAsk, tables: Tables) -> Verdict:
    newest = tables.cuda_packages["cudatoolkit"].newest
    both = bool(set(old.allowed) & set(new.allowed))
    refused = f"{old.text} and {new.text} cannot both hold: there is no cudatoolkit for CUDA {span(new.allowed)}"
    warned = "cudatoolkit and cuda-version are both asked for; the second took over from the first"
    return Verdict(
        "legacy-cudatoolkit",
        LINK,
        Status.WARN if both else Status.FAIL,
        warned if both else refused,
        detail=(old.where, new.where),
        why=f"cuda-version took over from cudatoolkit (last release {newest}) and ties it to its own version.",
        origins=(*old.origins, *new.origins),
        changes=(Change("drop", (), old.origins[-1], "cudatoolkit"),),
    )


def _unused(old: CudaAsk, metapackage: CudaAsk) -> Verdict:
    return Verdict(
        "legacy-cudatoolkit",
        LINK,
        Status.WARN,
        "cudatoolkit is asked for beside pytorch-cuda, which does not use it",
        detail=(old.where, metapackage.where),
        why="pytorch-cuda brings the CUDA libraries of channel nvidia; cudatoolkit installs a second set.",
        origins=(*old.origins, *metapackage.origins),
        changes=(Change("drop", (), old.origins[-1], "cudatoolkit"),),
    )


def _two_versions(version: CudaAsk, metapackage: CudaAsk) -> Verdict:
    return Verdict(
        "cuda-mix",
        LINK,
        Status.WARN,
        f"{version.text} and {metapackage.text} ask for different CUDA versions",
        detail=(version.where, metapackage.where),
        why="pytorch is built for the one pytorch-cuda names; other packages would follow cuda-version.",
        origins=(*version.origins, *metapackage.origins),
    )
