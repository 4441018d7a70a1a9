"""``llmenv create``: from layers to an installed environment, or to a plan of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from conda_llmenv.cli import console
from conda_llmenv.cli.options import (
    PlanOptions,
    confirm_option,
    json_option,
    layer_options,
    output_options,
    solver_options,
    target_options,
)
from conda_llmenv.errors import LlmenvError, PrefixRefused

if TYPE_CHECKING:
    from conda_llmenv.pipeline.create import CreateRequest
    from conda_llmenv.pipeline.plan import Plan, PlanRequest
    from conda_llmenv.pipeline.tools import Tools


class CreateOptions(PlanOptions, frozen=True):
    """The options of ``create``, typed."""

    name: str | None
    prefix: str | None
    lock: Path | None
    require_hashes: bool
    dry_run: bool
    keep: bool
    no_verify: bool
    no_kernel: bool
    yes: bool
    quiet: bool
    verbose: int
    as_json: bool

    @property
    def asks(self) -> bool:
        """Whether somebody is there to be asked and did not say yes already."""
        return not self.yes and not self.as_json and console.is_terminal(sys.stdin) and console.is_terminal(sys.stderr)


@click.command()
@target_options
@layer_options
@click.option(
    "--lock",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Make what a lockfile says instead of stacking layers. With hashes, nothing is solved and all are enforced; "
    "environment.lock.yml has versions only, and builds that fit them are solved for.",
)
@click.option("--require-hashes", is_flag=True, help="With --lock: refuse what has no sha256.")
@solver_options
@click.option("-d", "--dry-run", is_flag=True, help="Plan everything, the pip section too, and change nothing.")
@click.option("--keep", is_flag=True, help="Leave a failed environment for inspection.")
@click.option("--no-verify", is_flag=True, help="Do not prove that it works: run no checks at the end.")
@click.option("--no-kernel", is_flag=True, help="Do not register the environment as a Jupyter kernel.")
@confirm_option
@output_options
@json_option
def create(**options: Any) -> int:
    """Compose, solve and install an environment, all of it or nothing of it.

    The layers stack in this order, and a later one takes over only by saying so: base, the recipe's fragments, the
    tier, ./llmenv.yml, -f files, packages on the command line.
    """
    from conda_llmenv.cli.wiring import open_tools

    chosen = CreateOptions(**options)
    if chosen.lock is not None and (chosen.any_layer or chosen.channels):
        raise click.UsageError("--lock says everything: give no layers, packages or channels beside it")
    if chosen.require_hashes and chosen.lock is None:
        raise click.UsageError("--require-hashes is about a lockfile: give one with --lock")
    if not (chosen.lock or chosen.any_layer or Path("llmenv.yml").is_file()):
        raise click.UsageError("nothing to create: give a --recipe, a --tier, a -f FILE, a --lock FILE or packages")
    if not (chosen.name or chosen.prefix or chosen.dry_run):
        raise click.UsageError("the environment needs a name (-n) or a folder (-p)")
    chosen.check()
    with open_tools(
        quiet=chosen.quiet,
        as_json=chosen.as_json,
        engine=chosen.engine,
        installer=chosen.installer,
    ) as tools:
        return _plan_and_create(chosen, tools)


def _plan_and_create(chosen: CreateOptions, tools: Tools) -> int:
    from conda_llmenv.cli.created import say_created, say_plan
    from conda_llmenv.cli.kernel_tools import keep_up
    from conda_llmenv.pipeline.create import create as create_environment

    wanted = structs.replace(chosen.plan_request(), require_hashes=chosen.require_hashes)
    prefix = _prefix(chosen)
    replaces = prefix is not None and _may_replace(prefix, chosen)
    plan = _plan(chosen, wanted, tools)
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
    kernels, notices = ((), ()) if chosen.no_kernel else keep_up(prefix)
    created = structs.replace(created, notices=(*created.notices, *notices))
    return say_created(created, name=chosen.name, kernels=kernels, as_json=chosen.as_json)


def _plan(chosen: CreateOptions, wanted: PlanRequest, tools: Tools) -> Plan:
    """Return the plan of the layers, or the one a lockfile stands for.

    A plan that is shown before anything happens has the pip section resolved; otherwise that overlaps the linking.
    """
    from conda_llmenv.pipeline.create import plan_creation, with_pip
    from conda_llmenv.pipeline.plan import make_plan

    whole = chosen.dry_run or chosen.asks
    if chosen.lock is None:
        return plan_creation(wanted, tools) if whole else make_plan(wanted, tools)
    plan = _locked_plan(chosen, chosen.lock, wanted, tools)
    return with_pip(plan, wanted, tools) if whole and plan.pip is None else plan


def _locked_plan(chosen: CreateOptions, path: Path, wanted: PlanRequest, tools: Tools) -> Plan:
    from conda_llmenv.cli.lock_files import read_lock_file
    from conda_llmenv.pipeline.from_lock import LockedRequest, plan_from_lock

    file = read_lock_file(path)
    if not file.format.creates:
        raise click.UsageError(f"{path} is a lock of the pip section alone: give it to pip or uv, or in a -f file")
    request = LockedRequest(
        file.lock,
        str(path),
        exact=file.format.exact,
        require_hashes=chosen.require_hashes,
        offline=wanted.offline,
    )
    return plan_from_lock(request, tools)


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


def _request(chosen: CreateOptions, wanted: PlanRequest, prefix: Path, *, replaces: bool) -> CreateRequest:
    from conda_llmenv.pipeline.create import CreateRequest

    context = click.get_current_context()
    return CreateRequest(
        wanted,
        prefix,
        replace=replaces,
        keep=chosen.keep,
        verify=not chosen.no_verify,
        command=shlex.join([context.find_root().info_name or "llmenv", *(context.find_object(list) or ())]),
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
