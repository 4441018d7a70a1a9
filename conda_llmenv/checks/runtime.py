"""Checks of what is installed and of what is really loaded."""

from __future__ import annotations

from conda_llmenv.checks import (
    runtime_build,
    runtime_cards,
    runtime_compiler,
    runtime_duplicates,
    runtime_import,
    runtime_libraries,
    runtime_paths,
    runtime_records,
    runtime_requirements,
)
from conda_llmenv.checks.check import Check

CHECKS: tuple[Check, ...] = (
    *runtime_paths.CHECKS,
    *runtime_records.CHECKS,
    *runtime_duplicates.CHECKS,
    *runtime_import.CHECKS,
    *runtime_build.CHECKS,
    *runtime_cards.CHECKS,
    *runtime_libraries.CHECKS,
    *runtime_requirements.CHECKS,
    *runtime_compiler.CHECKS,
)
"""From what decides which torch is found, through torch itself, to what stands on it."""
