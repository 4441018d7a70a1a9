"""Observes the machine: driver, cards, limits, disks, networks. Standard library only.

``asked["root"]`` is ``/``, or the folder that stands for ``/`` of a recorded machine. Below such a folder are read,
each optional and besides what :mod:`conda_llmenv.host` reads there:

* ``run/llmenv/machine.json``: a mapping of a check's id to its values; what it has is told as it is, so that what this
  probe once told of a machine can be recorded and judged again;
* ``sys/module/nvidia/version``, ``proc/driver/nvidia/version``, ``dev/nvidia0`` …, ``sys/bus/pci/devices``: driver and
  cards;
* ``run/llmenv/libcuda.json``: what starting CUDA came to: ``path``, ``version``, ``api`` (``cuDriverGetVersion``) and
  ``init`` (the number that ``cuInit`` returned);
* ``run/llmenv/nvidia-smi-health.csv``: the answer, *with* its header, of ``nvidia-smi --query-gpu=FIELDS
  --format=csv,nounits`` for any of the fields in :data:`.machine_gpu.FIELDS`;
* ``run/llmenv/kmsg``: the kernel log, as read from ``/dev/kmsg`` or printed by ``dmesg``;
* ``run/llmenv/host.json`` (``shm_bytes``), ``proc/self/limits``, ``proc/meminfo``, ``proc/self/cgroup``,
  ``sys/fs/cgroup``;
* ``sys/class/net``, ``sys/class/infiniband``, ``sys/module/nvidia_peermem``, ``etc/nccl.conf``.

The real machine's NVIDIA libraries and programs are then never asked, and nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import machine_gpu, machine_limits, machine_network, machine_xid
from .machine_files import RECORDED, Machine
from .telling import Teller

LOOKS = {
    "driver-version": machine_gpu.driver,
    "driver-library": machine_gpu.library,
    "fabric-manager": machine_gpu.fabric,
    "gpu-count": machine_gpu.count,
    "gpu-health": machine_gpu.health,
    "xid": machine_xid.xid,
    "shm": machine_limits.shm,
    "nofile": machine_limits.nofile,
    "memlock": machine_limits.memlock,
    "stack": machine_limits.stack,
    "swap": machine_limits.swap,
    "disk": machine_limits.disk,
    "network-interface": machine_network.interfaces,
    "nccl-settings": machine_network.nccl_settings,
}
"""Id of a check to what looks for it."""


def run(asked: Mapping[str, Any], teller: Teller) -> None:
    """Tell of every check asked for that is about the machine."""
    machine = Machine(asked.get("root", "/"), asked.get("prefix", ""))
    recorded = {} if machine.live else json.loads(machine.text(f"{RECORDED}/machine.json") or "{}")
    for check in asked["checks"]:
        if check in LOOKS:
            with teller.looking(check) as values:
                values.update(recorded[check] if check in recorded else LOOKS[check](machine))
