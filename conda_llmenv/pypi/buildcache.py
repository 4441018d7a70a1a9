"""Which wheels built here may be used again: only those built for the same Python, torch, CUDA and C++ ABI.

An installer's own cache forgets what an unisolated build was linked against: each combination gets a cache of its own.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, to_builtins

_ABI = re.compile(r"_GLIBCXX_USE_CXX11_ABI=(?P<value>[01])")
_ARCHITECTURES = ("TORCH_CUDA_ARCH_LIST", "CUDAARCHS", "NVCC_APPEND_FLAGS", "FLASH_ATTN_CUDA_ARCHS")


class BuildKey(Struct, frozen=True):
    """What a wheel built without isolation depends on.

    Attributes:
        python: such as ``cp311``.
        machine: such as ``x86_64``.
        torch: torch's version with its local part, or None without torch.
        build: conda build string of torch, or None where it is a wheel.
        cuda: CUDA torch was built for, or None.
        abi: ``1`` for the C++11 ABI, ``0`` for the old one, None if unknown.
        architectures: the variables that choose GPU architectures, as set.
    """

    python: str
    machine: str
    torch: str | None = None
    build: str | None = None
    cuda: str | None = None
    abi: str | None = None
    architectures: str = ""

    def digest(self) -> str:
        """Return a short name for the combination, fit for a folder."""
        text = json.dumps(to_builtins(self), sort_keys=True)
        return f"{self.python}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def read_key(prefix: Path, python_version: str, environ: Mapping[str, str]) -> BuildKey:
    """Return the key of a prefix, read from torch's own files without importing it."""
    major, minor = python_version.split(".")[:2]
    packages = prefix / "lib" / f"python{major}.{minor}" / "site-packages"
    facts = _torch_facts(packages)
    return BuildKey(
        python=f"cp{major}{minor}",
        machine=platform.machine(),
        torch=facts.get("__version__") or _installed_version(packages),
        build=_conda_build(prefix),
        cuda=facts.get("cuda"),
        abi=_abi(packages),
        architectures=" ".join(f"{name}={environ[name]}" for name in _ARCHITECTURES if environ.get(name)),
    )


def _torch_facts(packages: Path) -> dict[str, str]:
    """Read the constants of ``torch/version.py``."""
    try:
        tree = ast.parse((packages / "torch" / "version.py").read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}
    facts: dict[str, str] = {}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            facts |= {target.id: value.value for target in targets if isinstance(target, ast.Name)}
    return facts


def _installed_version(packages: Path) -> str | None:
    folder = next(packages.glob("torch-*.dist-info"), None)
    return folder.name.removeprefix("torch-").removesuffix(".dist-info") if folder else None


def _conda_build(prefix: Path) -> str | None:
    records = sorted((prefix / "conda-meta").glob("pytorch-[0-9]*.json"))
    return records[0].stem.removeprefix("pytorch-") if records else None


def _abi(packages: Path) -> str | None:
    try:
        text = (packages / "torch/share/cmake/Torch/TorchConfig.cmake").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = _ABI.search(text)
    return match["value"] if match else None


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return our own folder for what can be made again."""
    home = Path(environ.get("HOME") or Path.home())
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "llmenv"


def tools_folder(tools: Sequence[str], python_version: str, environ: Mapping[str, str]) -> Path:
    """Return the folder that keeps a set of build tools for a Python."""
    text = json.dumps([sorted(tools), python_version.split(".")[:2], platform.machine()])
    return cache_root(environ) / "build-tools" / hashlib.sha256(text.encode()).hexdigest()[:16]


def build_folder(key: BuildKey, environ: Mapping[str, str]) -> Path:
    """Return the folder that keeps what was built for a key."""
    return cache_root(environ) / "builds" / key.digest()
