"""Builds what the judges of the machine take, and asks one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from conda_llmenv.checks import host
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import Finding, Gpu, HostFacts, Observation

A100 = Gpu("NVIDIA A100-SXM4-80GB", 81920, (8, 0))
BY_ID = {check.id: check for check in host.CHECKS}

DEV_BOX = HostFacts("linux-64", glibc="2.36", kernel="6.1.0", cpus=2, memory_mib=2000)
NODE = HostFacts(
    "linux-64", memory_mib=1_000_000, driver="550.54.15", cuda_max="12.4", gpus=(A100,) * 4, gpu_source="nvml"
)


def judged(check: str, values: Mapping[str, Any], facts: HostFacts = NODE, **scene: Any) -> Finding:
    """Return what a check comes to where its probe saw ``values`` on a machine."""
    asked = BY_ID[check]
    seen = {asked.observed: (Observation(asked.observed, values),)}
    return asked.judge(replace(Scene("/env", facts, load_tables(), seen=seen), **scene))


def fix_of(check: str, finding: Finding) -> str:
    """Return the next step a report shows with a finding."""
    return finding.fix or BY_ID[check].fix
