"""Compose tiered fragments into one explained environment; pure: files come in as bytes, nothing is solved."""

from __future__ import annotations

from conda_llmenv.compose.catalog import read_recipes, read_tier, read_tiers
from conda_llmenv.compose.explain import Explanation, explain, to_json
from conda_llmenv.compose.kinds import kind_of
from conda_llmenv.compose.merge import merge
from conda_llmenv.compose.reader import read_fragment
from conda_llmenv.compose.render import render_yaml
from conda_llmenv.compose.stack import ComposeRequest, names_workload, stack
from conda_llmenv.model import EnvSpec
from conda_llmenv.ports import Library

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


def compose(request: ComposeRequest, library: Library) -> EnvSpec:
    """Stack the layers of a request and merge them.

    Raises:
        NotFoundError: a name or file is not there.
        FileFormatError: a file cannot be read.
        ConflictError: layers contradict each other.
    """
    return merge(stack(request, library))
