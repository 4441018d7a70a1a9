"""Tells what a kernel in this environment needs to be registered: the kernelspec ipykernel would make, and versions."""

from __future__ import annotations

import base64
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
from typing import Any, Dict, Optional

RECORD = "\x1e"

STATE = ("conda-meta", "llmenv", "state.json")
"""Where an environment made with this program keeps its tier and recipe."""


def version(distribution: str) -> Optional[str]:
    """Return the installed version of a distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def cuda() -> Optional[str]:
    """Return the CUDA version that torch was built with, without the seconds that importing it takes."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return None
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as file:
            found = re.search(r"^cuda\b[^=\n]*=\s*'([0-9.]+)'", file.read(), re.MULTILINE)
    except OSError:
        return None
    return found.group(1) if found else None


def state() -> Dict[str, Any]:
    """Return tier and recipe of an environment made with this program."""
    try:
        with open(os.path.join(sys.prefix, *STATE), encoding="utf-8") as file:
            kept = json.load(file)
        return {name: kept[name] for name in ("tier", "recipe") if kept.get(name)}
    except (OSError, ValueError, AttributeError):
        return {}


def kernelspec() -> Dict[str, Any]:
    """Return the kernelspec and the logos of the ipykernel that is here; empty where there is none."""
    try:
        from ipykernel.kernelspec import RESOURCES, get_kernel_dict
    except ImportError:
        return {}
    logos = {}
    for name in sorted(os.listdir(RESOURCES)):
        if name.startswith("logo-"):
            with open(os.path.join(RESOURCES, name), "rb") as file:
                logos[name] = base64.b64encode(file.read()).decode()
    return {"spec": get_kernel_dict(), "logos": logos}


def describe() -> None:
    """Write one JSON text after the record separator of RFC 7464."""
    facts: Dict[str, Any] = {
        "prefix": sys.prefix,
        "python": "%d.%d.%d" % sys.version_info[:3],
        "ipykernel": version("ipykernel"),
        "torch": version("torch"),
        "cuda": cuda(),
        "conda": os.path.isdir(os.path.join(sys.prefix, "conda-meta")),
        "state": state(),
        "kernelspec": kernelspec(),
    }
    sys.stdout.write(RECORD + json.dumps(facts) + "\n")


if __name__ == "__main__":
    describe()
