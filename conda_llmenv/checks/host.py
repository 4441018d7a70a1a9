"""Checks of the machine: driver, cards, limits, disks and networks."""

from __future__ import annotations

from conda_llmenv.checks.check import Check

CHECKS: tuple[Check, ...] = ()
