"""``llmenv list``: the environments on this machine, or the packages of one."""

from __future__ import annotations

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import json_option, target_options
from conda_llmenv.redact import strip

PYPI = "pypi"
"""The channel that conda, too, shows for what pip installed."""


@click.command("list")
@target_options
@json_option
def list_environments(name: str | None, prefix: str | None, *, as_json: bool) -> None:
    """List the environments on this machine, or the packages of one."""
    if name or prefix:
        _list_packages(name, prefix, as_json=as_json)
    else:
        _list_all(as_json=as_json)


def _list_all(*, as_json: bool) -> None:
    from conda_llmenv.cli.wiring import registry, user_config
    from conda_llmenv.prefix.summary import summaries

    found = summaries(user_config(), registry())
    if as_json:
        console.payload(
            "list",
            [
                {
                    "name": environment.name,
                    "prefix": str(environment.prefix),
                    "phase": environment.phase,
                    "tier": environment.tier,
                    "recipe": environment.recipe,
                }
                for environment in found
            ],
        )
        return
    console.table(
        ("name", "phase", "tier", "recipe", "prefix"),
        [
            (
                environment.name,
                environment.phase,
                environment.tier,
                environment.recipe,
                str(environment.prefix),
            )
            for environment in found
        ],
    )


def _list_packages(name: str | None, prefix: str | None, *, as_json: bool) -> None:
    from conda_llmenv.cli.wiring import existing_prefix, user_config
    from conda_llmenv.prefix.inspect import distribution_notices, distributions, installed

    prefix_path = existing_prefix(name, prefix, user_config())
    found = installed(prefix_path)
    rows = [(package.name, package.version, package.build, strip(package.channel)) for package in found]
    rows += [(one.name, one.version, "", PYPI) for one in distributions(prefix_path)]
    console.warn_all(distribution_notices(prefix_path))
    if as_json:
        console.payload("list", [dict(zip(("name", "version", "build", "channel"), row, strict=True)) for row in rows])
    else:
        shown = [(*row[:3], row[3].rstrip("/").rpartition("/")[2]) for row in sorted(rows)]
        console.table(("name", "version", "build", "channel"), shown)
