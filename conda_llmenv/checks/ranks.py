"""Checks of several ranks: collectives by value, one DDP step, one FSDP step."""

from __future__ import annotations

from conda_llmenv.checks.check import Check

CHECKS: tuple[Check, ...] = ()
