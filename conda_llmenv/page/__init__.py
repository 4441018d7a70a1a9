"""The report of a run as one self-contained HTML page; pure: a report comes in, text goes out."""

from __future__ import annotations

from conda_llmenv.page.report import render

__all__ = ["render"]
