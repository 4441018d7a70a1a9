"""Checks of arithmetic on this device: by value, repeatable, in every precision."""

from __future__ import annotations

from conda_llmenv.checks.check import Check

CHECKS: tuple[Check, ...] = ()
