"""A tiny function through ``torch.compile``, with caches of its own, compared by value with the same function as is."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from typing import Any

from .devices import described, devices, load_torch, told
from .private_folder import private_folder

SETTINGS = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no pool of processes for one kernel
    "TORCHINDUCTOR_VEC_ISA_OK": "0",  # not a test program for each vector extension: seven of nine seconds
}

SWITCHES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_SUPPRESS_ERRORS")
"""Variables under which torch leaves a function as it is and says nothing."""


def run(asked: dict[str, Any], teller: Any) -> None:
    """Look at ``compile`` on every device."""
    teller.step("import torch")
    os.environ.update(SETTINGS)
    with teller.looking("compile") as values, private_folder(tempfile.gettempdir(), "compile") as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = str(
            folder
        )  # for the compilers too, so that nothing of theirs is left
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
        os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")
        torch = load_torch()
        values["compilers"] = {name: shutil.which(name) or "" for name in ("g++", "gcc", "clang", "cc")}
        values["compilers"].update({name: os.environ[name] for name in ("CXX", "CC") if os.environ.get(name)})
        values["devices"] = {}
        for device in devices(torch, asked):
            teller.step("torch.compile on " + device)
            values["devices"][device] = compiled(torch, device)
        values["switches"] = {name: os.environ[name] for name in SWITCHES if name in os.environ}
        values["made_code"] = any(path.is_file() for path in folder.rglob("*"))


def compiled(torch: Any, device: str) -> dict[str, Any]:
    """Return how far the compiled function is from the plain one on a device, or what the compiler said."""

    def tiny(values: Any) -> Any:
        """Compute ``relu(2 x + 1)``."""
        return torch.relu(values * 2 + 1)

    inputs = torch.linspace(-3, 3, 1001, device=device)
    started = time.perf_counter()
    try:
        got = torch.compile(tiny)(inputs)
    except Exception as error:
        return {"error": told(error)}
    difference = float((got - tiny(inputs)).abs().max())
    return {**described(torch, device), "difference": difference, "took": time.perf_counter() - started}
