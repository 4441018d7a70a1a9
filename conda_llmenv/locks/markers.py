"""Whether a PEP 508 marker holds on the platform of a lock, whatever machine this runs on."""

from __future__ import annotations

from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.version import InvalidVersion

from conda_llmenv.model import LockedPlatform

_SYSTEMS = {
    "linux": ("linux", "Linux", "posix"),
    "osx": ("darwin", "Darwin", "posix"),
    "win": ("win32", "Windows", "nt"),
}
"""First part of a subdir → ``sys_platform``, ``platform_system`` and ``os_name``."""

_MACHINES = {"linux-64": "x86_64", "osx-64": "x86_64", "win-64": "AMD64", "win-arm64": "ARM64"}
"""Subdirs whose second part is not what Python calls the machine."""


def applies(marker: str, platform: LockedPlatform) -> bool:
    """Return whether a marker holds on a platform; True also where that cannot be told, as without Python."""
    environment = _environment(platform)
    if not marker or environment is None:
        return True
    try:
        return Marker(marker).evaluate(environment)
    except (InvalidMarker, InvalidVersion, UndefinedComparison, UndefinedEnvironmentName):
        return True


def _environment(platform: LockedPlatform) -> dict[str, str] | None:
    """Return the variables of the core metadata specification; None where the platform or its Python is not known."""
    python = platform.record("python")
    name, _, machine = platform.subdir.partition("-")
    if python is None or name not in _SYSTEMS:
        return None
    sys_platform, system, os_name = _SYSTEMS[name]
    return {
        "implementation_name": "cpython",
        "implementation_version": python.version,
        "os_name": os_name,
        "platform_machine": _MACHINES.get(platform.subdir, machine),
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": system,
        "platform_version": "",
        "python_full_version": python.version,
        "python_version": ".".join(python.version.split(".")[:2]),
        "sys_platform": sys_platform,
        "extra": "",
    }
