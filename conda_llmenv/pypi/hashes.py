"""Which hashes an installer demands, and what is refused because it has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from conda_llmenv.errors import InputError
from conda_llmenv.model import PipPackage, PipPlan, PipRequest, PipRequirement
from conda_llmenv.pypi.failures import failed
from conda_llmenv.pypi.requirements import asked_hashes
from conda_llmenv.redact import strip


def hash_flags(packages: Iterable[PipPackage]) -> list[str]:
    """Demand hashes of everything, where everything has one; an installer checks those that stand there anyway."""
    return ["--require-hashes"] if all(package.hashes for package in packages) else []


def refuse_unhashed(plan: PipPlan, request: PipRequest, *, configured: bool = False) -> None:
    """Refuse a plan of which something could be exchanged unnoticed.

    Args:
        plan: what is to be installed.
        request: with the lines that asked for it, for messages.
        configured: pip's configuration demands it, rather than the request.

    Raises:
        InputError: something has no hash; all of it is named with its place.
    """
    origins = {one.name: one.origin for one in request.section.requirements if one.name}
    packages = (*plan.packages, *plan.pinned_late)
    bare = [one.name for one in packages if not one.hashes]
    lines = list(_open(plan, request))
    if not bare and not lines:
        return
    who, without = (
        ("pip's configuration requires hashes", "PIP_REQUIRE_HASHES")
        if configured
        else (
            "hashes are required",
            "--require-hashes",
        )
    )
    raise InputError(
        f"{who}, and parts of the pip section have none",
        details=[
            *(f"{name}   {origins[name]}" if name in origins else name for name in bare),
            *(f"{strip(one.text)}   {one.origin}" for one in lines),
        ],
        hint=f"pin these as wheels of an index, or do without {without} for this environment",
        origins=[*(origins[name] for name in bare if name in origins), *(one.origin for one in lines)],
    )


def _open(plan: PipPlan, request: PipRequest) -> Iterator[PipRequirement]:
    """Yield what is resolved only after the first stage."""
    pinned = {one.name for one in plan.pinned_late}
    yield from (one for one in request.section.requirements if strip(one.text) in plan.late and one.name not in pinned)


def with_asked_hashes(
    packages: Iterable[PipPackage], asked: Iterable[PipRequirement], request: PipRequest
) -> Iterator[PipPackage]:
    """Keep only the hashes somebody wrote, and the files that have one of them, where they wrote some.

    Raises:
        PipFailed: none of the files that fit has one of them.
    """
    wanted = asked_hashes(asked)
    for package in packages:
        hashes = wanted.get(package.name)
        if hashes is None:
            yield package
            continue
        kept = tuple(one for one in package.hashes if one in hashes)
        if not kept:
            raise failed(request, _mismatch(package, hashes), "resolved")
        artifacts = tuple(one for one in package.artifacts if hashes & set(one.hashes))
        yield replace(package, hashes=kept, artifacts=artifacts)


def _mismatch(package: PipPackage, hashes: Iterable[str]) -> str:
    return "\n".join(
        [
            f"Hash mismatch for `{package.name}=={package.version}`",
            *(f"  expected {one}" for one in sorted(hashes)),
            *(f"  offered  {one}" for one in package.hashes),
        ]
    )
