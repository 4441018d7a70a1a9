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
def remove(name: str | None, prefix: str | None, *, force: bool, yes: bool, as_json: bool) -> None:
    """Remove an environment.

    A folder that is no environment is never touched.
    """
    from conda_llmenv.cli.wiring import existing_prefix, registry, user_config
    from conda_llmenv.prefix.removal import remove as remove_environment

    if not (name or prefix):
        raise click.UsageError("which environment? give -n or -p")
    target = existing_prefix(name, prefix, user_config())
    if not yes and not as_json:
        if not sys.stdin.isatty():
            raise InputError(f"{target} is not removed without a yes", hint="add -y")
        click.confirm(f"Remove everything in {target}", default=False, abort=True, err=True)
    active = os.environ.get("CONDA_PREFIX")
    notices = remove_environment(
        target, active=Path(active) if active else None, force=force, registry=registry(), on_wait=console.say
    )
    console.warn_all(notices)
    if as_json:
        console.payload("remove", {"prefix": str(target)})
    else:
        console.say(f"removed {target}")
