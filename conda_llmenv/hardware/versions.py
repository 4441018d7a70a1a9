"""Comparing CUDA, driver and torch versions, and asking a conda version spec what it permits."""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.version import InvalidVersion, Version

_VARIANT = re.compile(r"cu(?P<major>\d{1,2})(?P<minor>\d)")


def parse(text: str | None) -> Version | None:
    """Return the version, or None where there is none or it is not one (PEP 440 reads driver and CUDA versions too)."""
    try:
        return Version(text) if text else None
    except InvalidVersion:
        return None


def driver_text(driver: Version) -> str:
    """Return a driver version as NVIDIA writes it, the third number with two digits: ``575.51.03``."""
    first, *rest = driver.release
    return ".".join([str(first), *(str(number) for number in rest[:1]), *(f"{number:02}" for number in rest[1:])])


def minor(version: Version) -> Version:
    """Return ``major.minor`` of a version: CUDA 12.4.1 → 12.4."""
    return Version(f"{version.major}.{version.minor}")


def variant_of(cuda: Version) -> str:
    """Return PyTorch's name of a CUDA variant: 12.6 → ``cu126``."""
    return f"cu{cuda.major}{cuda.minor}"


def cuda_of_variant(variant: str) -> Version | None:
    """Return the CUDA version of a variant name: ``cu126`` → 12.6, ``cpu`` → None."""
    match = _VARIANT.fullmatch(variant)
    return Version(f"{match['major']}.{match['minor']}") if match else None


def permits(version_spec: str | None, versions: Iterable[str]) -> bool | None:
    """Return whether a conda version spec (``>=12.4,<13``) permits any of ``versions``; None if it cannot be read."""
    if not version_spec or version_spec == "*":
        return True
    from rattler import Version as CondaVersion
    from rattler import VersionSpec
    from rattler.exceptions import InvalidVersionSpecError

    try:
        spec = VersionSpec(version_spec)
    except (InvalidVersionSpecError, ValueError):
        return None
    return any(spec.matches(CondaVersion(version)) for version in versions)
