"""Checks of the machine: driver, cards, limits, disks and networks."""

from __future__ import annotations

from conda_llmenv.checks import host_disk, host_driver, host_gpu, host_limits, host_network, host_tier, host_xid
from conda_llmenv.checks.check import Check

CHECKS: tuple[Check, ...] = (
    *host_driver.CHECKS,
    *host_gpu.CHECKS,
    *host_xid.CHECKS,
    *host_tier.CHECKS,
    *host_limits.CHECKS,
    *host_disk.CHECKS,
    *host_network.CHECKS,
)
"""In the order of the ladder."""
