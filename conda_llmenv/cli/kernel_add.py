"""``llmenv kernel add``: register an environment as a kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import complete_environments, confirm_option, json_option


@click.command()
@click.option("-n", "environment", metavar="ENVIRONMENT", shell_complete=complete_environments, help="Its name.")
@click.option("-p", "folder", metavar="PATH", help="Its full path; by default the active environment.")
@click.option("--host", metavar="DESTINATION", help="It is on this host, and the kernel runs there: as ssh is told.")
@click.option("--name", metavar="KERNEL", help="Name of the kernel; by default made from the environment's.")
@click.option("--display-name", metavar="TEXT", help="What people choose it by; default: ENV (torch, CUDA, tier).")
@click.option("--user", is_flag=True, help="For every Jupyter of this account (the default).")
@click.option(
    "--sys-prefix",
    is_flag=True,
    help="For the Jupyter that is in the environment itself; with --host, in the one active here.",
)
@click.option("--prefix", metavar="DIR", help="For the Jupyter that is in DIR (below DIR/share/jupyter).")
@confirm_option
@json_option
def add(
    environment: str | None,
    folder: str | None,
    *,
    host: str | None,
    name: str | None,
    display_name: str | None,
    user: bool,
    sys_prefix: bool,
    prefix: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Register an environment as a kernel that any Jupyter of yours can start.

    The environment may be made by llmenv, conda, mamba or venv; it needs ipykernel, which is offered to be installed.
    The kernel is activated each time it starts: what packages and you set for the environment is in force.

    With --host the environment is on another host, which ssh must reach without a question; -p is its path there. The
    kernel runs there, behind an SSH tunnel, and ends with the connection.
    """
    from conda_llmenv.cli.kernel_tools import environment as find
    from conda_llmenv.cli.kernel_tools import kernel_tools, kernels_folder, spec_json
    from conda_llmenv.pipeline.kernels import AddRequest, MissingKernel
    from conda_llmenv.pipeline.kernels import add as register

    if user + sys_prefix + (prefix is not None) > 1:
        raise click.UsageError("--user, --sys-prefix and --prefix name different places: give one")
    if name == "":
        raise click.UsageError("the name of the kernel is empty")
    if host is not None:
        return _add_remote(
            host,
            environment,
            folder,
            name=name,
            display_name=display_name,
            sys_prefix=sys_prefix,
            prefix=prefix,
            yes=yes,
            as_json=as_json,
        )
    place, tools = find(environment, folder), kernel_tools()
    kernels = kernels_folder(place, sys_prefix=sys_prefix, given=prefix)
    request = AddRequest(place, kernels, name or "", display_name or "", replace=yes)
    try:
        spec = register(request, tools)
    except MissingKernel:
        if not (yes or _agreed(place, as_json=as_json)):
            raise
        _install(place, as_json=as_json)
        spec = register(request, tools)
    if as_json:
        console.payload("kernel add", spec_json(spec))
    else:
        console.say(f"registered {spec.name}: {spec.display_name}")
        console.fact("kernel", str(spec.folder))
        console.fact("starts", spec.argv[0])
        console.say(f"\ntry it:  llmenv kernel test {spec.name}")
    return 0


def _add_remote(host: str, environment: str | None, folder: str | None, **options: Any) -> int:
    from conda_llmenv.cli.kernel_remote import add as add_remote

    if environment is not None:
        raise click.UsageError("-n names environments of this host: give the path on the other one with -p")
    return add_remote(host, folder, **options)


def _agreed(place: Path, *, as_json: bool) -> bool:
    """Ask whether ipykernel may be installed; without somebody to ask, it may not."""
    if as_json or not (console.is_terminal(sys.stdin) and console.is_terminal(sys.stderr)):
        return False
    return click.confirm(f"There is no ipykernel in {place}. Install it", default=True, err=True)


def _install(place: Path, *, as_json: bool) -> None:
    from conda_llmenv.cli.kernel_install import install_ipykernel

    console.say(f"installing ipykernel in {place}")
    install_ipykernel(place, as_json=as_json)
