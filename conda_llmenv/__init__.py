"""Compose, check and create environments for training language models."""

from __future__ import annotations

__version__ = "0.1.0"
