"""Builds the scenes that runtime checks are judged in: a machine, a tier, and what probes have seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conda_llmenv.checks.registry import BY_ID
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import Finding, Gpu, HostFacts, Observation

PREFIX = "/envs/work"

SITE = f"{PREFIX}/lib/python3.11/site-packages"

CARDS = {"V100": (7, 0), "A100": (8, 0), "L40S": (8, 9), "H100": (9, 0), "RTX 5090": (12, 0)}


def machine(driver: str | None = None, *cards: str, glibc: str = "2.35") -> HostFacts:
    """Return a machine with a driver and cards by name."""
    gpus = tuple(Gpu(f"NVIDIA {name}", 80_000, CARDS[name]) for name in cards)
    return HostFacts("linux-64", glibc=glibc, driver=driver, gpus=gpus, gpu_source="nvml" if gpus else "none")


def scene(seen: Mapping[str, Mapping[str, Any]], host: HostFacts | None = None, **more: Any) -> Scene:
    """Return a scene in which the first rank saw these values, by check."""
    observations = {check: (Observation(check, values),) for check, values in seen.items()}
    return Scene(prefix=PREFIX, host=host or machine(), tables=load_tables(), seen=observations, **more)


def judged(check: str, where: Scene) -> Finding:
    """Return what a check of the ladder comes to."""
    return BY_ID[check].judge(where)


def torch(version: str = "2.8.0+cu128", cuda: str | None = "12.8", **more: Any) -> dict[str, Any]:
    """Return what the import of a torch tells."""
    return {
        "failed": "",
        "seconds": 2.5,
        "version": version,
        "file": f"{SITE}/torch/__init__.py",
        "prefix": PREFIX,
        "cuda": cuda,
        "hip": None,
        "debug": False,
        "cxx11_abi": True,
        "archs": [],
        "backends": ["nccl", "gloo"] if cuda else ["gloo"],
        "warnings": [],
        "cudnn": 91002 if cuda else None,
        "nccl": "2.27.3" if cuda else None,
        "cuda_available": bool(cuda),
        "visible": None,
        "cuda_error": "",
        **more,
    }


def installed(versions: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """Return what is installed: a pip torch unless told otherwise."""
    known = {"torch": "2.8.0+cu128", "numpy": "2.3.1"} if versions is None else dict(versions)
    folder = f"{SITE}/torch-{known.get('torch')}.dist-info"
    info = {"version": known.get("torch"), "folder": folder, "installer": "pip", "conda": False}
    return {
        "versions": known,
        "names": sorted(known),
        "python": "3.11.9",
        "torch": known.get("torch"),
        "several": {},
        "torch_infos": [info] if "torch" in known else [],
        "conda": {},
        "conda_torch": [],
        "leftovers": [],
        **more,
    }
