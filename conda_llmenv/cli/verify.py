"""``llmenv verify``: is an environment what it should be?"""

from __future__ import annotations

from pathlib import Path

import click

from conda_llmenv.cli.options import json_option, target_options


@click.command()
@target_options
@click.option("--integrity", is_flag=True, help="Compare every file with what was recorded when it was installed.")
@click.option(
    "--stat-only", is_flag=True, help="With --integrity: compare existence, size, type and mode; read no file."
)
@json_option
def verify(name: str | None, prefix: str | None, *, integrity: bool, stat_only: bool, as_json: bool) -> int:
    """Check that an environment is what its records say.

    With --integrity every file is compared with the records of conda and pip, compiled files with their sources, and
    an environment of llmenv's with the packages and variables that were noted when it was made. Records that were
    changed together with their files are not seen: compare `info --digest` with that of another environment of the
    same lock. Packages do not record who may run a file: that is known of commands, of Python and of programs in bin.
    """
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

    report = check_integrity(prefix, contents=contents)
    report_integrity(prefix, report, as_json=as_json)
    return 1 if report.findings else 0
