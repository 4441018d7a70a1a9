"""``llmenv remove``: remove an environment, all of it or nothing of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import confirm_option, json_option, target_options
from conda_llmenv.errors import InputError


@click.command()
@target_options
@click.option("--force", is_flag=True, help="Vouch that an unfinished change by another host or container is dead.")
@confirm_option
@json_option
def remove(name: str | None, prefix: str | None, *, force: bool, yes: bool, as_json: bool) -> int:
    """Remove an environment.

    A folder that is no environment is never touched.
    """
    from conda_llmenv.cli.kernel_tools import forget
    from conda_llmenv.cli.wiring import existing_prefix, refuse_inner_environments, registry, user_config
    from conda_llmenv.prefix.location import is_in_change
    from conda_llmenv.prefix.removal import remove as remove_environment

    if not (name or prefix):
        raise click.UsageError("which environment? give -n or -p")
    config = user_config()
    target = existing_prefix(name, prefix, config)
    refuse_inner_environments(target, config)
    if not yes:
        if as_json or not console.is_terminal(sys.stdin):
            raise InputError(f"{target} is not removed without a yes", hint="add -y")
        if not click.confirm(f"Remove everything in {target}", default=False, err=True):
            console.say("nothing was changed")
            return 1
    if is_in_change(target):
        console.say(f"{target} was left by an interrupted run; an environment it had moved aside goes too")
    active = os.environ.get("CONDA_PREFIX")
    notices = remove_environment(
        target, active=Path(active) if active else None, force=force, registry=registry(), on_wait=console.say
    )
    kernels, left = forget(target)
    console.warn_all((*notices, *left))
    if as_json:
        console.payload("remove", {"prefix": str(target), "kernels": [spec.name for spec in kernels]})
    else:
        gone = "".join(f", and the kernel {spec.name}" for spec in kernels)
        console.say(f"removed {target}{gone}")
    return 0
