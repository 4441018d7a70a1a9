"""Finds what an extension would be compiled with, and the C library it would run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import Any, Dict, Iterator

VERSION_SECONDS = 15.0


def compiler(values: Dict[str, Any]) -> None:
    """Tell path and version of the CUDA compiler that ``torch.utils.cpp_extension`` would take; empty for none."""
    values["nvcc"] = next(_compilers(), "")
    values["home"] = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or ""
    values["version"] = ""
    if values["nvcc"]:
        done = subprocess.run(
            [values["nvcc"], "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=False
        )
        match = re.search(r"release (\d+\.\d+)", done.stdout)
        values["version"] = match[1] if match else ""


def _compilers() -> Iterator[str]:
    """Yield compilers in torch's order: CUDA_HOME or CUDA_PATH, then PATH, then the usual place."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    own = os.path.join(sys.prefix, "bin")
    found = [os.path.join(home, "bin", "nvcc")] if home else []
    on_path = shutil.which("nvcc", path=os.pathsep.join([own, os.environ.get("PATH", "")]))
    found += [on_path] if on_path else []
    found.append("/usr/local/cuda/bin/nvcc")
    yield from (path for path in found if os.access(path, os.X_OK))


def c_library() -> str:
    """Return the version of the GNU C library of this process, an empty string where it is another one."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (ValueError, OSError):
        return ""
    return version if name == "glibc" else ""
