"""``llmenv verify``: is an environment what it should be?"""

from __future__ import annotations

from pathlib import Path

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import json_option, target_options
from conda_llmenv.model import Notice


@click.command()
@target_options
@click.option("--integrity", is_flag=True, help="Compare every file with what was recorded when it was installed.")
@click.option(
    "--stat-only", is_flag=True, help="With --integrity: compare existence, size, type and mode; read no file."
)
@json_option
def verify(name: str | None, prefix: str | None, *, integrity: bool, stat_only: bool, as_json: bool) -> int:
    """Check that an environment is what its records say."""
    from conda_llmenv.cli.wiring import existing_prefix, user_config

    if stat_only and not integrity:
        raise click.UsageError("--stat-only says how --integrity looks; add --integrity")
    if not integrity:
        raise click.UsageError("what is to be verified? give --integrity")
    target = existing_prefix(name, prefix, user_config())
    return _integrity(target, contents=not stat_only, as_json=as_json)


def _integrity(prefix: Path, *, contents: bool, as_json: bool) -> int:
    from conda_llmenv.cli.integrity import report_integrity
    from conda_llmenv.prefix.integrity.verification import check_integrity
    from conda_llmenv.prefix.location import is_in_change

    if is_in_change(prefix):
        console.warn(Notice("in-change", f"{prefix} is being changed, or was when a run was interrupted"))
    report = check_integrity(prefix, contents=contents)
    report_integrity(prefix, report, as_json=as_json)
    return 1 if report.findings else 0
