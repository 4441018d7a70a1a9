"""``llmenv history``: which combinations have worked, how to get the last good one back, and what has changed since."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import json_option, target_options
from conda_llmenv.errors import InputError, NotFoundError

if TYPE_CHECKING:
    from conda_llmenv.history.store import Kept
    from conda_llmenv.model import Notice

NOTHING = 1
"""The exit code where there is no report, or no good one."""

SHOWN_NOTICES = 3
"""Files that are named of those that were passed over; anybody may have put a thousand into a team's folder."""

_STAMP = re.compile(r"[0-9]{8}(?:T?[0-9]{2,6}Z?)?")
_FINGERPRINT = re.compile(r"[0-9a-f]{4,64}")
_BETWEEN = re.compile(r"[-: ]")


@click.command()
@click.argument("reports", nargs=-1, metavar="[A B]")
@target_options
@click.option("--last-good", is_flag=True, help="Show the newest whole pass and how to get it back.")
@click.option("--diff", is_flag=True, help="Say what changed from the last good run to the newest, or from A to B.")
@click.option("--limit", type=click.IntRange(min=1), default=20, metavar="N", help="Combinations to list; default: 20.")
@json_option
def history(
    reports: tuple[str, ...],
    name: str | None,
    prefix: str | None,
    *,
    last_good: bool,
    diff: bool,
    limit: int,
    as_json: bool,
) -> int:
    """List the combinations that were verified, and what came of it.

    Each line is a card, driver, CUDA, torch, model libraries and accelerators, newest first. With -n or -p those of one
    environment; it need not be there any more. A and B of --diff are each an environment (its newest report), a
    fingerprint or a time as the list shows it (or the beginning of one), or the file of a report.

    Reports are in each environment and in one folder besides: LLMENV_HISTORY, or llmenv_history of .condarc, may
    name one that a team shares. The exit code is 1 where there is nothing to show.
    """
    from conda_llmenv.cli import remembered

    _check(reports, diff=diff, last_good=last_good)
    if len(reports) == 2:  # noqa: PLR2004 - A and B
        before, after = (_named(text) for text in reports)
        remembered.tell_differences(before.report, after.report, as_json=as_json)
        return 0
    found = _kept(name, prefix)
    if not found:
        return _nothing("no report is kept" + (f" of {name or prefix}" if name or prefix else ""), as_json=as_json)
    if diff:
        return _since_last_good(found, as_json=as_json)
    if last_good:
        return _last_good(found, as_json=as_json)
    remembered.tell_combinations(found, limit, as_json=as_json)
    return 0


def _check(reports: Sequence[str], *, diff: bool, last_good: bool) -> None:
    if reports and not diff:
        raise click.UsageError(f"{reports[0]!r} is no option; name an environment with -n, or two reports with --diff")
    if len(reports) not in {0, 2}:
        raise click.UsageError("--diff takes two reports, or none for the last good and the newest one")
    if diff and last_good:
        raise click.UsageError("--diff begins with the last good run already: give one of --diff and --last-good")


def _nothing(message: str, *, as_json: bool) -> int:
    if as_json:
        console.payload("history", None, ok=False)
    console.say(f"{message}; `llmenv verify --full` in an environment makes one")
    return NOTHING


def _last_good(found: Sequence[Kept], *, as_json: bool) -> int:
    from conda_llmenv.checks.known_good import last_good
    from conda_llmenv.cli import remembered
    from conda_llmenv.cli.remembering import report_store

    report = last_good(one.report for one in found)
    if report is None:
        return _nothing("no whole run has passed yet", as_json=as_json)
    remembered.tell_last_good(report, report_store().lock_of(report), as_json=as_json)
    return 0


def _since_last_good(found: Sequence[Kept], *, as_json: bool) -> int:
    """Compare the newest report of an environment with its last good one; without a name, of the newest environment."""
    from conda_llmenv.checks.known_good import last_good
    from conda_llmenv.cli import remembered

    newest = found[0].report
    those = [one.report for one in found if one.report.prefix == newest.prefix]
    good = last_good(those)
    if good is None:
        return _nothing(f"no whole run of {newest.prefix} has passed yet", as_json=as_json)
    remembered.tell_differences(good, newest, as_json=as_json)
    return 0


def _kept(name: str | None, prefix: str | None) -> list[Kept]:
    """Return the reports of an environment, or of all, newest first; files that were passed over are told."""
    from conda_llmenv.cli.remembering import report_store
    from conda_llmenv.cli.wiring import registry, user_config
    from conda_llmenv.prefix.environments import known

    notices: list[Notice] = []
    store = report_store(notices.append)
    place = _place(name, prefix)
    if place is None and name is not None:
        found = [one for one in store.kept() if Path(one.report.prefix).name == name]
    elif place is not None:
        found = list(store.kept(place))
    else:
        found = list(store.kept(also=known(registry(), user_config().envs_dirs)))
    console.warn_all(notices[:SHOWN_NOTICES])
    if len(notices) > SHOWN_NOTICES:
        console.say(f"         and {len(notices) - SHOWN_NOTICES} more files are passed over")
    return found


def _place(name: str | None, prefix: str | None) -> Path | None:
    """Return the path of an environment, of one that is gone as well; None where only its name is known, or nothing."""
    from conda_llmenv.cli.wiring import existing_prefix, user_config

    if name is None and prefix is None:
        return None
    try:
        return existing_prefix(name, prefix, user_config())
    except NotFoundError:
        return None if prefix is None else Path(os.path.abspath(os.path.expanduser(prefix)))  # noqa: PTH100, PTH111 - links stay as written


def _named(text: str) -> Kept:
    """Return the report that a word on the command line means: a file, an environment, a time or a fingerprint."""
    from conda_llmenv.history.store import Kept, read_report

    path = Path(text)
    if path.is_file() and ("/" in text or path.suffix == ".json"):
        return Kept(path, read_report(path), path.stat().st_uid)
    found = _of_environment(text)
    if not found:
        every = _kept(None, None)
        found = [one for one in every if _begins(text, one)]
    if not found:
        raise NotFoundError(
            f"no report is kept that {text!r} could mean",
            hint="give an environment, or a time or fingerprint as `llmenv history` shows it",
        )
    return found[0]


def _of_environment(text: str) -> list[Kept]:
    if "/" in text:
        return _kept(None, text)
    try:
        return _kept(text, None)
    except InputError:
        return []  # no name that an environment can have, such as a time


def _begins(text: str, one: Kept) -> bool:
    stamp = _BETWEEN.sub("", text)
    if _STAMP.fullmatch(stamp):
        digits = one.path.name.partition("-")[0].replace("T", "")
        return digits.startswith(stamp.replace("T", "").removesuffix("Z"))
    return _FINGERPRINT.fullmatch(text) is not None and one.report.fingerprint.startswith(text)
