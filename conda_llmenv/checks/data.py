"""Checks of data loading and of checkpoints on this storage."""

from __future__ import annotations

from conda_llmenv.checks.check import Check

CHECKS: tuple[Check, ...] = ()
