"""Compose tiered fragments into one explained environment; pure: files come in as bytes, nothing is solved."""

from __future__ import annotations

from conda_llmenv.compose.reader import read_fragment

__all__ = ["read_fragment"]
