"""The pip side of a lock as a plan for an installer: nothing is resolved again."""

from __future__ import annotations

from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.locks.pip_targets import target_of
from conda_llmenv.model import LockedPlatform, PipKind, PipPackage, PipPlan
from conda_llmenv.redact import strip


def locked_plan(platform: LockedPlatform) -> PipPlan | None:
    """Return what an installer is told to install for a platform, None where that is nothing.

    Files that are ready come first. Second, with the environment's own torch in sight, comes what is built here:
    commits, folders, and sources beside torch. What a lock has without a version was never resolved, because that takes
    building it; only that is left for the installer to resolve.

    Args:
        platform: as it was read; its lines were checked then.
    """
    if not platform.pip:
        return None
    torch = any(one.name == "torch" for one in platform.pip) or platform.record("pytorch") is not None
    late = tuple(package for package in platform.pip if _is_late(package, torch=torch))
    return PipPlan(
        "lock",
        tuple(package for package in platform.pip if package not in late),
        tuple(map(_line, late)),
        pinned_late=tuple(package for package in late if package.version is not None),
    )


def _is_late(package: PipPackage, *, torch: bool) -> bool:
    try:
        target = target_of(package)
    except Unreadable:
        return False  # the installer says why it cannot read it
    if target.kind is PipKind.NAMED:
        return package.version is None or (package.built and torch)
    return not target.url.endswith(".whl")


def _line(package: PipPackage) -> str:
    try:
        return strip(target_of(package).text)
    except Unreadable:
        return strip(package.requirement)
