"""Environments that must not be replaced or removed: frozen ones, conda's own, links and mount points."""

from __future__ import annotations

import json
import os
from pathlib import Path

from conda_llmenv.errors import PrefixRefused

FROZEN = Path("conda-meta", "frozen")
"""The marker of CEP 22; it may hold JSON with a ``message``."""

CONDABIN = Path("condabin", "conda")
"""What only an installation of conda has."""


def check_unprotected(prefix: Path, doing: str) -> None:
    """Refuse to touch an environment that somebody protects.

    Args:
        prefix: an environment.
        doing: ``replaced`` or ``removed``, for the message.

    Raises:
        PrefixRefused: it is frozen, holds conda itself, or is a link or a mount point.
    """
    if (prefix / FROZEN).is_file():
        message = _frozen_message(prefix / FROZEN)
        raise PrefixRefused(
            f"{prefix} is frozen and is not {doing}{message and f': {message}'}",
            hint=f"remove {prefix / FROZEN} if it is yours to change",
        )
    if (prefix / CONDABIN).exists():
        raise PrefixRefused(f"{prefix} holds conda itself and is not {doing}", hint="choose another environment")
    if prefix.is_symlink():
        raise PrefixRefused(
            f"{prefix} is a link and is not {doing}", hint=f"name the environment itself: -p {os.path.realpath(prefix)}"
        )
    if prefix.is_mount():
        raise PrefixRefused(f"{prefix} is a mount point and cannot be {doing}", hint="choose a folder below it")


def _frozen_message(path: Path) -> str:
    try:
        data = json.loads(path.read_text("utf-8", errors="replace")[:65536] or "{}")
    except (OSError, ValueError, RecursionError):
        return ""
    message = data.get("message") if isinstance(data, dict) else None
    return " ".join(message.split()) if isinstance(message, str) else ""
