"""The one place that knows how py-rattler 0.26 and 0.28 differ; everything else in this folder speaks to it.

0.27 renamed ``Platform`` to ``Subdir`` and gave build strings a class of their own (with an unchecked constructor for
values outside CEP 26); 0.28 added ``PackageCache`` with a validation mode and a policy for records without timestamps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rattler


def subdir(name: str) -> Any:
    """Return the library's object for a conda subdir such as ``linux-64``."""
    kind = getattr(rattler, "Subdir", None) or rattler.Platform
    return kind(name)


def build_string(text: str) -> Any:
    """Return the library's object for a build string, taken as it is."""
    kind = getattr(rattler, "BuildString", None)
    return text if kind is None else kind.new_unchecked(text)


def requested_specs(specs: list[rattler.MatchSpec]) -> list[Any]:
    """Return MatchSpecs as ``install`` takes them: unlike ``solve`` it hands its list on to the core unconverted."""
    return [spec._match_spec for spec in specs]  # noqa: SLF001 - the public wrapper is refused with a TypeError


def cutoff_options() -> dict[str, Any]:
    """Return the options of ``solve`` that make both versions treat undated records alike under ``exclude_newer``.

    A record that does not say when it was built cannot be shown to be old enough, so it is left out.
    """
    return {"timestamp_policy": "require-timestamp"} if hasattr(rattler, "PackageCache") else {}


def verifies_cached_packages() -> bool:
    """Return whether the library itself can compare every file of a cached package with its recorded hash."""
    return hasattr(rattler, "PackageCache")


def package_cache(folder: Path) -> dict[str, Any]:
    """Return the options of ``install`` for a package cache whose content is checked, where the library can do so."""
    if not verifies_cached_packages():
        return {"cache_dir": folder}
    checked = rattler.PackageCache.new_layered([folder], validation_mode=rattler.ValidationMode.full())
    return {"package_cache": checked}
