"""Reads what this machine is, or what a recorded one was.

``LLMENV_HOST_ROOT`` names a folder that stands for ``/`` of another machine, so that a whole run can be pointed at it.
Below it are read, each optional:

* ``sys/module/nvidia/version``, ``proc/driver/nvidia/version``: the driver;
* ``run/llmenv/nvidia-smi.csv``: the answer of ``nvidia-smi --query-gpu=name,memory.total,compute_cap,driver_version
  --format=csv,noheader,nounits``, or ``run/llmenv/nvidia-smi.xml``: that of ``nvidia-smi -q -x``;
* ``run/llmenv/cuda-version``: newest CUDA of the driver (``12.4``, or ``12040`` as ``cuDriverGetVersion`` says it);
* ``proc/cpuinfo``, ``proc/meminfo``, ``proc/sys/kernel/osrelease``, ``proc/self/limits``, ``sys/fs/cgroup/memory.max``;
* ``run/llmenv/host.json``: what has no file: ``subdir``, ``glibc``, ``cpus``, ``shm_bytes``.

The real machine's NVML, libcuda and nvidia-smi are then never asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conda_llmenv.host.reader import read_host

ROOT_VARIABLE = "LLMENV_HOST_ROOT"

__all__ = ["ROOT_VARIABLE", "host_root", "read_host"]


def host_root(environ: Mapping[str, str]) -> Path:
    """Return the folder to read this machine's facts from: ``/`` unless ``LLMENV_HOST_ROOT`` names another."""
    return Path(environ.get(ROOT_VARIABLE) or "/")
