"""Imports torch once in a process, and tells what it was built with or why it cannot be imported."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from . import libraries

CLEAN_SECONDS = 90.0
"""Limit of the second try without rerouted libraries."""

SUMMED = 1024
"""Elements of the vectors that a kernel adds."""

BACKENDS = ("nccl", "gloo", "mpi", "ucc")


class Attempt(NamedTuple):
    """How ``import torch`` went: the module or the exception's text, the seconds, and the warnings of the import."""

    torch: Any
    failed: str
    seconds: float
    warnings: List[str]


@functools.lru_cache(maxsize=None)
def attempt() -> Attempt:
    """Import torch, the first time for good."""
    started = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            import torch
        except (ImportError, OSError) as error:  # a library that cannot be loaded is one or the other
            torch, failed = None, f"{type(error).__name__}: {error}"
        else:
            failed = ""
    seen = [str(warning.message)[:500] for warning in caught]
    return Attempt(torch, failed[:1500], time.monotonic() - started, seen)


def needed() -> Any:
    """Return torch, for what cannot be looked at without it.

    Raises:
        ImportError: it cannot be imported.
    """
    tried = attempt()
    if tried.torch is None:
        raise ImportError(tried.failed)
    return tried.torch


def imported(values: Dict[str, Any]) -> None:
    """Tell what torch is; where it cannot be imported, why, and whether it could without rerouted libraries."""
    tried = attempt()
    values["seconds"] = round(tried.seconds, 3)
    values["failed"] = tried.failed
    if tried.torch is None:
        values["clean"] = _clean()
        return
    torch = tried.torch
    values["version"] = str(torch.__version__)
    values["file"], values["prefix"] = os.path.realpath(torch.__file__), os.path.realpath(sys.prefix)
    values["cuda"] = torch.version.cuda
    values["hip"] = getattr(torch.version, "hip", None)
    values["debug"] = bool(getattr(torch.version, "debug", False))
    values["git"] = getattr(torch.version, "git_version", "")
    values["cxx11_abi"] = _answer(torch.compiled_with_cxx11_abi)
    values["archs"] = _answer(torch.cuda.get_arch_list) or []
    values["backends"] = _backends(torch)
    values["warnings"] = tried.warnings[:5]
    values["numpy"] = getattr(sys.modules.get("numpy"), "__version__", None)
    _cuda(torch, values)


def _cuda(torch: Any, values: Dict[str, Any]) -> None:
    built = bool(torch.version.cuda)
    values["cudnn"] = _answer(torch.backends.cudnn.version) if built else None
    nccl = _answer(torch.cuda.nccl.version) if built and "nccl" in values["backends"] else None
    values["nccl"] = ".".join(map(str, nccl)) if isinstance(nccl, tuple) else nccl
    values["cuda_available"] = bool(_answer(torch.cuda.is_available))
    values["visible"] = os.environ.get("CUDA_VISIBLE_DEVICES")
    values["device_count"] = (_answer(torch.cuda.device_count) or 0) if values["cuda_available"] else 0
    values["devices"] = [_device(torch, index) for index in range(values["device_count"])]
    values["cuda_error"] = "" if values["cuda_available"] or not built else _why_unavailable(torch)


def _device(torch: Any, index: int) -> Dict[str, Any]:
    return {"name": torch.cuda.get_device_name(index), "capability": list(torch.cuda.get_device_capability(index))}


def _why_unavailable(torch: Any) -> str:
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return str(error)[:800]
    return ""


def _backends(torch: Any) -> List[str]:
    distributed = torch.distributed

    if not distributed.is_available():
        return []
    asked = {name: getattr(distributed, f"is_{name}_available", None) for name in BACKENDS}
    return [name for name, available in asked.items() if available is not None and available()]


def _answer(ask: Callable[[], Any]) -> Any:
    """Return what torch answers; None where this build cannot."""
    try:
        return ask()
    except (RuntimeError, AttributeError, AssertionError):
        return None


def _clean() -> Optional[Dict[str, Any]]:
    """Return how the import goes without rerouted libraries, None where nothing reroutes them."""
    dropped = [name for name in libraries.SEARCHED if os.environ.get(name)]
    if not dropped:
        return None
    environ = {name: value for name, value in os.environ.items() if name not in dropped}
    argv = [sys.executable, "-I", "-c", "import torch"]
    try:
        done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=CLEAN_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"dropped": dropped, "works": False, "error": f"no answer in {CLEAN_SECONDS:.0f} s"}
    return {
        "dropped": dropped,
        "works": done.returncode == 0,
        "error": (done.stderr.strip().splitlines() or [""])[-1][:500],
    }


def with_numpy(values: Dict[str, Any]) -> None:
    """Tell whether torch and NumPy understand one another: an array there and back."""
    torch = needed()
    try:
        import numpy as np
    except ImportError as error:
        values["absent"] = isinstance(error, ModuleNotFoundError) and error.name == "numpy"
        values["failed"] = "" if values["absent"] else f"{type(error).__name__}: {error}"[:1500]
        return
    values["numpy"] = np.__version__
    values["warnings"] = [text for text in attempt().warnings if "NumPy" in text or "numpy" in text][:3]
    try:
        back = torch.from_numpy(np.arange(6, dtype=np.float32)).add(1).numpy()
        values["failed"] = "" if back.tolist() == [1, 2, 3, 4, 5, 6] else f"an array came back as {back.tolist()}"
    except (RuntimeError, TypeError) as error:
        values["failed"] = f"{type(error).__name__}: {error}"[:500]


def launched(values: Dict[str, Any]) -> None:
    """Tell how a real kernel goes on each card, with what this build holds code for."""
    torch = needed()
    values["archs"] = _answer(torch.cuda.get_arch_list) or []
    values["hip"] = getattr(torch.version, "hip", None)
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    values["devices"] = [
        dict(_device(torch, index), index=index, failed=_launch(torch, index)) for index in range(count)
    ]


def _launch(torch: Any, index: int) -> str:
    """Return the error of adding two vectors on a card, an empty string where the sum is right."""
    try:
        ones = torch.ones(SUMMED, device=f"cuda:{index}")
        total = float((ones + ones).sum().cpu())
    except RuntimeError as error:
        return str(error).splitlines()[0][:500]
    return "" if total == 2.0 * SUMMED else f"{SUMMED} sums of 1 and 1 came to {total}"
