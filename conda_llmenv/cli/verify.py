"""``llmenv verify``: does an environment work, and is it what it should be?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from conda_llmenv.cli import console, report_page
from conda_llmenv.cli.options import json_option, target_options
from conda_llmenv.model import Level


class VerifyOptions(Struct, frozen=True):
    """The options of ``verify``, typed."""

    name: str | None
    prefix: str | None
    level: str | None
    only: tuple[str, ...]
    listed: bool
    nproc: int | None
    strict: bool
    report: Path | None
    verbose: bool
    quiet: bool
    integrity: bool
    stat_only: bool
    as_json: bool

    def check(self) -> None:
        """Refuse options that have nothing to do with each other.

        Raises:
            click.UsageError: they do not.
        """
        if self.stat_only and not self.integrity:
            raise click.UsageError("--stat-only says how --integrity looks; add --integrity")
        if self.integrity and (self.level or self.only or self.nproc or self.strict or self.report):
            raise click.UsageError(
                "--integrity looks at files and runs nothing: give no options of the checks beside it"
            )
        if self.level and self.only:
            raise click.UsageError("--only names checks whatever their level: give no level beside it")


@click.command()
@target_options
@click.option(
    "--quick",
    "level",
    flag_value="quick",
    help="In seconds, for job scripts: look at what changes from day to day, and fail unless the last full pass still "
    "stands for these packages, this machine and its driver.",
)
@click.option("--full", "level", flag_value="full", help="Up to training steps on all cards (the default).")
@click.option(
    "--deep",
    "level",
    flag_value="deep",
    help="Also what takes minutes: the memory of the cards and accelerate's test script.",
)
@click.option("--only", multiple=True, metavar="ID", help="Run this check and what it needs; may be given again.")
@click.option("--list", "listed", is_flag=True, help="List the checks and do nothing.")
@click.option(
    "--nproc",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Processes for the checks of several ranks; default: the recipe's, else one a card, else 2 and then 4.",
)
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="Also write the report as one page for people.",
)
@click.option("-v", "--verbose", is_flag=True, help="One line for each check.")
@click.option("-q", "--quiet", is_flag=True, help="Print what failed and the verdict alone.")
@click.option("--integrity", is_flag=True, help="Compare every file with what was recorded when it was installed.")
@click.option(
    "--stat-only", is_flag=True, help="With --integrity: compare existence, size, type and mode; read no file."
)
@json_option
def verify(**options: Any) -> int:
    """Prove that an environment works on this machine.

    From activation and the driver up to training steps on several ranks and with model libraries. Exit codes: 0 it
    works (warnings allowed without --strict), 1 a check failed or the page of --report could not be written, 3 a check
    could not be run. What takes part is the environment's own Python, on its own; nothing is installed in it.

    With --integrity every file is compared with the records of conda and pip instead, compiled files with their
    sources, and an environment of llmenv's with the packages and variables that were noted when it was made. Records
    that were changed together with their files are not seen: compare `info --digest` with that of another environment
    of the same lock. Packages do not record who may run a file: that is known of commands, of Python and of programs
    in bin.
    """
    chosen = VerifyOptions(**options)
    if chosen.listed:
        return _list(as_json=chosen.as_json)
    from conda_llmenv.cli.wiring import existing_prefix, user_config

    chosen.check()
    prefix = existing_prefix(chosen.name, chosen.prefix, user_config())
    if chosen.integrity:
        return _integrity(prefix, contents=not chosen.stat_only, as_json=chosen.as_json)
    return _verify(prefix, chosen)


def _verify(prefix: Path, chosen: VerifyOptions) -> int:
    from conda_llmenv.checks.verdict import exit_code
    from conda_llmenv.cli.verified import report_json, say_report
    from conda_llmenv.cli.verifying import run_ladder, subject_of
    from conda_llmenv.pipeline.verify_tools import VerifyRequest

    if chosen.report is not None:
        report_page.check_place(chosen.report)
    level = Level[(chosen.level or "full").upper()]
    request = VerifyRequest(subject_of(prefix), level, chosen.only, chosen.nproc)
    report, notices = run_ladder(request, shown=not (chosen.quiet or chosen.as_json))
    unwritten = report_page.write_page(chosen.report, report) if chosen.report is not None else ()
    console.warn_all((*notices, *unwritten))
    code = exit_code(report, strict=chosen.strict) or int(bool(unwritten))
    if chosen.as_json:
        console.payload("verify", report_json(report), ok=code == 0)
    else:
        say_report(report, verbose=chosen.verbose, quiet=chosen.quiet, strict=chosen.strict)
    return code


def _list(*, as_json: bool) -> int:
    from conda_llmenv.checks.registry import LADDER

    if as_json:
        console.payload("verify", [{"id": one.id, "level": one.level.word, "title": one.title} for one in LADDER])
    else:
        console.table(("id", "level", "what it says"), [(one.id, one.level.word, one.title) for one in LADDER])
    return 0


def _integrity(prefix: Path, *, contents: bool, as_json: bool) -> int:
    from conda_llmenv.cli.integrity import report_integrity
    from conda_llmenv.prefix.integrity.verification import check_integrity

    report = check_integrity(prefix, contents=contents)
    report_integrity(prefix, report, as_json=as_json)
    return 1 if report.findings else 0
