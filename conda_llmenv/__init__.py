"""Compose, solve, prove and share environments for training language models."""

from __future__ import annotations

__version__ = "0.1.0"
