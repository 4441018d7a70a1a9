"""``llmenv create``: from layers to an installed environment, or to a plan of it."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import (
    LayerOptions,
    confirm_option,
    json_option,
    layer_options,
    output_options,
    target_options,
)
from conda_llmenv.errors import LlmenvError, PrefixRefused

if TYPE_CHECKING:
    from conda_llmenv.pipeline.create import CreateRequest
    from conda_llmenv.pipeline.plan import Plan, PlanRequest
    from conda_llmenv.pipeline.tools import Tools


class CreateOptions(LayerOptions, frozen=True):
    """The options of ``create``, typed."""

    name: str | None
    prefix: str | None
    engine: str
    installer: str
    strict_channel_priority: bool
    no_channel_priority: bool
    exclude_newer: datetime | None
    offline: bool
    dry_run: bool
    keep: bool
    no_verify: bool
    no_kernel: bool
    yes: bool
    quiet: bool
    verbose: int
    as_json: bool

    @property
    def channel_priority(self) -> str | None:
        """The priority asked for, None for that of the layers and the configuration."""
        return "strict" if self.strict_channel_priority else "disabled" if self.no_channel_priority else None

    @property
    def asks(self) -> bool:
        """Whether somebody is there to be asked and did not say yes already."""
        return not self.yes and not self.as_json and console.is_terminal(sys.stdin) and console.is_terminal(sys.stderr)


@click.command()
@target_options
@layer_options
@click.option("--engine", default="auto", metavar="ENGINE", help="Solver to use; `llmenv info` lists them.")
@click.option("--installer", default="auto", metavar="NAME", help="Installer of the pip section: uv or pip.")
@click.option("--strict-channel-priority", is_flag=True, help="A channel hides those after it.")
@click.option("--no-channel-priority", is_flag=True, help="The newest version of any channel wins.")
@click.option("--exclude-newer", type=click.DateTime(), metavar="DATE", help="Ignore conda packages newer than this.")
@click.option("--offline", is_flag=True, help="Use caches only.")
@click.option("-d", "--dry-run", is_flag=True, help="Plan everything, the pip section too, and change nothing.")
@click.option("--keep", is_flag=True, help="Leave a failed environment for inspection.")
@click.option("--no-verify", is_flag=True, help="Do not import what the recipe promises.")
@click.option(
    "--no-kernel", is_flag=True, hidden=True, help="Register no Jupyter kernel (this version registers none)."
)
@confirm_option
@output_options
@json_option
def create(**options: Any) -> int:
    """Compose, solve and install an environment, all of it or nothing of it.

    The layers stack in this order, and a later one takes over only by saying so: base, the recipe's fragments, the
    tier, ./llmenv.yml, -f files, packages on the command line.
    """
    from conda_llmenv.cli.wiring import open_tools
    from conda_llmenv.pypi.registry import check_installer

    chosen = CreateOptions(**options)
    if not (chosen.any_layer or Path("llmenv.yml").is_file()):
        raise click.UsageError("nothing to create: give a --recipe, a --tier, a -f FILE or packages")
    if not (chosen.name or chosen.prefix or chosen.dry_run):
        raise click.UsageError("the environment needs a name (-n) or a folder (-p)")
    if chosen.strict_channel_priority and chosen.no_channel_priority:
        raise click.UsageError("--strict-channel-priority and --no-channel-priority say opposite things: give one")
    check_installer(chosen.installer)
    with open_tools(
        quiet=chosen.quiet,
        as_json=chosen.as_json,
        engine=chosen.engine,
        installer=chosen.installer,
    ) as tools:
        return _plan_and_create(chosen, tools)


def _plan_and_create(chosen: CreateOptions, tools: Tools) -> int:
    from conda_llmenv.cli.created import say_created, say_plan
    from conda_llmenv.pipeline.create import create as create_environment
    from conda_llmenv.pipeline.create import plan_creation
    from conda_llmenv.pipeline.plan import make_plan

    wanted, prefix = _plan_request(chosen), _prefix(chosen)
    replaces = prefix is not None and _may_replace(prefix, chosen)
    # A plan that is shown before anything happens has the pip section resolved; otherwise that overlaps the linking.
    plan = plan_creation(wanted, tools) if chosen.dry_run or chosen.asks else make_plan(wanted, tools)
    console.warn_all(plan.notices)
    if not chosen.as_json:
        say_plan(plan)
    if chosen.dry_run or prefix is None:
        return _planned(plan, chosen)
    if chosen.asks:
        _confirm("Proceed", default=True)
    try:
        created = create_environment(_request(chosen, wanted, prefix, replaces=replaces), plan, tools)
    except LlmenvError as error:
        error.details = (*error.details, *_what_is_left(prefix))
        raise
    return say_created(created, name=chosen.name, as_json=chosen.as_json)


def _confirm(question: str, *, default: bool) -> None:
    """Go on after a yes; end the program, with nothing changed, after a no."""
    if not click.confirm(question, default=default, err=True):
        console.say("nothing was changed")
        raise click.exceptions.Exit(1)


def _what_is_left(prefix: Path) -> tuple[str, ...]:
    """Return the sentence that tells a person what a failure left at the prefix."""
    from conda_llmenv.prefix.location import is_environment

    if not prefix.exists():
        return ("nothing was left behind",)
    return (f"what was at {prefix} before is there",) if is_environment(prefix) else ()


def _plan_request(chosen: CreateOptions) -> PlanRequest:
    from conda_llmenv.cli.wiring import user_config
    from conda_llmenv.pipeline.plan import PlanRequest

    return PlanRequest(
        chosen.compose_request(),
        channel_priority=chosen.channel_priority,
        exclude_newer=chosen.exclude_newer,
        offline=chosen.offline or user_config().offline,
    )


def _request(chosen: CreateOptions, wanted: PlanRequest, prefix: Path, *, replaces: bool) -> CreateRequest:
    from conda_llmenv.pipeline.create import CreateRequest

    return CreateRequest(
        wanted,
        prefix,
        replace=replaces,
        keep=chosen.keep,
        verify=not chosen.no_verify,
        command=shlex.join(["llmenv", *(click.get_current_context().find_object(list) or ())]),
    )


def _prefix(chosen: CreateOptions) -> Path | None:
    """Return where the environment goes, None for a dry run that names no place."""
    from conda_llmenv.cli.wiring import new_prefix, refuse_inner_environments, settle_leftovers, user_config
    from conda_llmenv.prefix.location import path_notices

    if not (chosen.name or chosen.prefix):
        return None
    prefix = new_prefix(chosen.name, chosen.prefix, user_config())
    console.warn_all(path_notices(prefix))
    if not chosen.dry_run:
        settle_leftovers(prefix)
        refuse_inner_environments(prefix, user_config())
    return prefix


def _may_replace(prefix: Path, chosen: CreateOptions) -> bool:
    """Return whether what is at the prefix may make room: after a ``-y``, or a yes to the question.

    Raises:
        PrefixRefused: an environment is there, and nobody can be asked.
    """
    from conda_llmenv.prefix.location import is_environment, is_in_change

    if chosen.yes or chosen.dry_run or not is_environment(prefix) or is_in_change(prefix):
        return chosen.yes
    if not chosen.asks:
        raise PrefixRefused(
            f"{prefix} is an environment already",
            hint="add -y to replace it (it comes back if the new one fails), or choose another name",
        )
    _confirm(f"{prefix} is an environment already. Replace it, with everything in it", default=False)
    return True


def _planned(plan: Plan, chosen: CreateOptions) -> int:
    from conda_llmenv.cli.created import plan_json, say_packages

    if chosen.as_json:
        console.payload("create", {"dry_run": True, **plan_json(plan)})
        return 0
    if chosen.verbose:
        say_packages(plan)
    console.say("\ndry run: nothing was changed" + ("" if chosen.verbose else "; -v lists every package"))
    return 0
