"""Platforms as the formats of the pip side know them."""

from __future__ import annotations

ANY = "noarch"
"""The platform of a lock that does not say which it is for."""


def _marker(system: str, machine: str) -> str:
    return f"sys_platform == '{system}' and platform_machine == '{machine}'"


MARKERS = {
    "linux-64": _marker("linux", "x86_64"),
    "linux-aarch64": _marker("linux", "aarch64"),
    "linux-ppc64le": _marker("linux", "ppc64le"),
    "linux-s390x": _marker("linux", "s390x"),
    "osx-64": _marker("darwin", "x86_64"),
    "osx-arm64": _marker("darwin", "arm64"),
    "win-64": _marker("win32", "AMD64"),
    "win-arm64": _marker("win32", "ARM64"),
}
"""conda's subdir → the marker (PEP 508) that is true on it."""
