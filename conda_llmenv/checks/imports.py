"""Each module that was promised can be imported, on its own and in time."""

from __future__ import annotations

from conda_llmenv.checks.check import Check

CHECKS: tuple[Check, ...] = ()
