"""``llmenv recipes``: the workloads that can be composed."""

from __future__ import annotations

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import json_option


@click.command()
@json_option
def recipes(*, as_json: bool) -> None:
    """List the workloads that can be composed."""
    from conda_llmenv.cli.wiring import open_tools
    from conda_llmenv.compose import read_recipes

    with open_tools(quiet=True) as tools:
        found = read_recipes(tools.library)
    if as_json:
        console.payload(
            "recipes",
            [
                {
                    "name": recipe.name,
                    "file": recipe.origin.file,
                    "description": recipe.description,
                    "fragments": [fragment.value for fragment in recipe.fragments],
                    "tiers": [tier.value for tier in recipe.tiers],
                }
                for recipe in found
            ],
        )
        return
    console.table(
        ("recipe", "what it is for", "fragments"),
        [(recipe.name, recipe.description, " ".join(item.value for item in recipe.fragments)) for recipe in found],
    )
