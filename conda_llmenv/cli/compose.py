"""``llmenv compose``: print the merged environment.yml, or who asked for what."""

from __future__ import annotations

from typing import Any

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import LayerOptions, json_option, layer_options

EVERYTHING = "*"


class ComposeOptions(LayerOptions, frozen=True):
    """The options of ``compose``, typed."""

    package: str | None
    as_json: bool


@click.command()
@layer_options
@click.option(
    "--explain",
    "package",
    metavar="[PACKAGE]",
    is_flag=False,
    flag_value=EVERYTHING,
    help="Show file, line, layer and reason: of one package, or of everything.",
)
@json_option
def compose(**options: Any) -> None:
    """Print the merged environment.yml, or explain who asked for what.

    The output is a plain environment.yml: conda, mamba and llmenv read it the same way.
    """
    from conda_llmenv.cli.wiring import open_tools
    from conda_llmenv.compose import compose as merge_layers
    from conda_llmenv.compose import explain, render_yaml, to_json
    from conda_llmenv.pipeline.plan import with_tier

    chosen = ComposeOptions(**options)
    with open_tools(quiet=True) as tools:
        layers, choice = with_tier(chosen.compose_request(), tools)
        if choice is not None and choice.name != chosen.tier:
            console.say(f"tier {choice.name}: {choice.reason}")
        spec = merge_layers(layers, tools.library)
    if chosen.package is not None:
        _explain(explain(spec, None if chosen.package == EVERYTHING else chosen.package), as_json=chosen.as_json)
    elif chosen.as_json:
        console.payload("compose", {**to_json(spec), "notices": console.notices_json(spec.notices)})
    else:
        console.out(render_yaml(spec).rstrip("\n"))
        console.warn_all(spec.notices)


def _explain(found: Any, *, as_json: bool) -> None:
    from conda_llmenv.cli.explanations import explanation_json, explanation_lines

    if as_json:
        console.payload("compose", explanation_json(found))
    else:
        console.out("\n".join(explanation_lines(found)))
