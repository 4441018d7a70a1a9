"""Imports one module, and nothing else in this process."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from .telling import Teller


def run(asked: Mapping[str, Any], teller: Teller) -> None:
    """Import ``asked["module"]``; a failure is what was seen, a crash or a hang is for whoever started this."""
    with teller.looking("imports") as values:
        values["module"] = asked["module"]
        values["ok"], values["reason"] = _attempt(asked["module"])


def _attempt(module: str) -> tuple[bool, str]:
    try:
        importlib.import_module(module)
    except Exception as error:  # whatever a package raises is the reason
        lines = str(error).strip().splitlines() or [""]
        return False, f"{type(error).__name__}: {lines[0]}"[:1000]
    except SystemExit as error:
        return False, f"it ends the program with exit code {error.code}"
    return True, ""
