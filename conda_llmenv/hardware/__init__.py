"""What runs where: tiers, virtual packages and the plan checks, as pure functions over dated tables."""

from __future__ import annotations

from conda_llmenv.hardware.card import serves
from conda_llmenv.hardware.changes import EDITS, apply_changes
from conda_llmenv.hardware.checks import check_after, check_before, check_pip
from conda_llmenv.hardware.tables import Tables, load_tables
from conda_llmenv.hardware.tiers import choose_tier
from conda_llmenv.hardware.unsatisfiable import explain_unsatisfiable
from conda_llmenv.hardware.virtual import virtual_packages

__all__ = [
    "EDITS",
    "Tables",
    "apply_changes",
    "check_after",
    "check_before",
    "check_pip",
    "choose_tier",
    "explain_unsatisfiable",
    "load_tables",
    "serves",
    "virtual_packages",
]
