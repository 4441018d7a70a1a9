"""``llmenv kernel repair``: register anew what was moved, rebuilt or removed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import complete_kernels, confirm_option, json_option

if TYPE_CHECKING:
    from conda_llmenv.pipeline.kernel_repair import Repair
    from conda_llmenv.pipeline.kernel_tools import KernelTools


@click.command()
@click.argument("names", nargs=-1, metavar="[KERNEL]...", shell_complete=complete_kernels)
@confirm_option
@json_option
def repair(names: tuple[str, ...], *, yes: bool, as_json: bool) -> int:
    """Register anew what was moved, rebuilt or removed.

    Without names, every kernel of an environment here that llmenv registered; kernels on other hosts stay as they are.
    One whose environment was rebuilt is registered anew; one whose environment was moved is so after a yes (or with
    -y), and one whose environment is gone is removed after one.
    """
    from conda_llmenv.cli.kernel_tools import kernel_tools
    from conda_llmenv.pipeline.kernel_repair import plan_repairs

    tools = kernel_tools()
    planned = plan_repairs(names, tools)
    done = [_repair(one, tools, yes=yes, asks=not as_json and console.is_terminal(sys.stdin)) for one in planned]
    code = 0 if all(one["done"] for one in done) else 1
    if as_json:
        console.payload("kernel repair", done, ok=code == 0)
    elif not planned:
        console.say("nothing to repair")
    return code


def _repair(planned: Repair, tools: KernelTools, *, yes: bool, asks: bool) -> dict[str, Any]:
    """Repair one, as far as that is allowed, and tell what came of it."""
    from conda_llmenv.cli.kernel_tools import spec_json
    from conda_llmenv.errors import LlmenvError
    from conda_llmenv.pipeline.kernel_repair import Step
    from conda_llmenv.pipeline.kernel_repair import repair as repair_one

    told = {**spec_json(planned.spec), "step": planned.step.name.lower(), "reason": planned.reason, "done": False}
    told |= {"new_prefix": str(planned.prefix) if planned.prefix else None}
    told |= {"candidates": [str(place) for place in planned.candidates]}
    name = planned.spec.name
    if planned.step is Step.LEAVE:
        console.say("\n".join((f"{name}: {planned.reason}", *(f"  {place}" for place in planned.candidates))))
        console.say(f"hint: llmenv kernel remove {planned.spec.folder}, or add it anew with `llmenv kernel add -y`")
        return told
    if not (
        planned.safe or yes or (asks and click.confirm(f"{name}: {planned.reason}. {_question(planned)}", err=True))
    ):
        console.say(f"{name}: {planned.reason}; not changed without a yes (-y): {planned.step.value}")
        return told
    try:
        spec = repair_one(planned, tools)
    except LlmenvError as error:
        console.say(f"{name}: {error.message}")
        return {**told, "reason": error.message}
    console.say(f"removed {name}: {planned.reason}" if spec is None else f"registered {name} anew: {spec.prefix}")
    return {**told, **(spec_json(spec) if spec else {}), "done": True}


def _question(planned: Repair) -> str:
    return "Remove it" if planned.prefix is None else "Let it start that one"
