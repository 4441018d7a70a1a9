"""Checks of the model libraries: one training step of a tiny model."""

from __future__ import annotations

from conda_llmenv.checks.check import Check

CHECKS: tuple[Check, ...] = ()
