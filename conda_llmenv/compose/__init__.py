"""Compose tiered fragments into one explained environment; pure: files come in as bytes, nothing is solved.

Names are imported when they are asked for: most commands read a file or two and compose nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conda_llmenv.compose.catalog import read_recipes, read_tier, read_tiers
    from conda_llmenv.compose.composing import compose
    from conda_llmenv.compose.explanation import Explanation, explain, to_json
    from conda_llmenv.compose.kinds import kind_of
    from conda_llmenv.compose.merging import merge
    from conda_llmenv.compose.reader import read_fragment
    from conda_llmenv.compose.render import render_yaml
    from conda_llmenv.compose.stacking import ComposeRequest, names_workload, stack

__all__ = [
    "ComposeRequest",
    "Explanation",
    "compose",
    "explain",
    "kind_of",
    "merge",
    "names_workload",
    "read_fragment",
    "read_recipes",
    "read_tier",
    "read_tiers",
    "render_yaml",
    "stack",
    "to_json",
]

_MODULES = {
    "ComposeRequest": "stacking",
    "Explanation": "explanation",
    "compose": "composing",
    "explain": "explanation",
    "kind_of": "kinds",
    "merge": "merging",
    "names_workload": "stacking",
    "read_fragment": "reader",
    "read_recipes": "catalog",
    "read_tier": "catalog",
    "read_tiers": "catalog",
    "render_yaml": "render",
    "stack": "stacking",
    "to_json": "explanation",
}
"""Where each name lives; no module is called as a name is, which would hide it."""


def __getattr__(name: str) -> Any:
    """Import the module of a public name, when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
