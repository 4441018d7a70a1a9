"""How earlier runs are told: known combinations, the last good one, and what changed, as text and as JSON."""

from __future__ import annotations

import os
import pwd
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conda_llmenv.checks.differences import differences
from conda_llmenv.checks.known_good import Combination, combinations, parts
from conda_llmenv.checks.moments import minute, when
from conda_llmenv.checks.units import counted
from conda_llmenv.checks.verdict import in_short
from conda_llmenv.cli import console
from conda_llmenv.history.report_file import SHORT

if TYPE_CHECKING:
    from conda_llmenv.history.store import Kept
    from conda_llmenv.model import Report

_TITLES = (
    "date (UTC)",
    "verdict",
    "card",
    "driver",
    "CUDA",
    "torch",
    "model library",
    "accelerators",
    "fingerprint",
    "environment",
)
_NONE = "-"


def tell_combinations(found: Sequence[Kept], limit: int, *, as_json: bool) -> None:
    """Print each combination once, newest first."""
    rows = combinations(one.report for one in found)
    if as_json:
        files = {id(one.report): one.path for one in found}
        console.payload("history", [_combination_json(row, files[id(row.report)]) for row in rows[:limit]])
        return
    console.table(_TITLES, [_row(row) for row in rows[:limit]])
    if len(rows) > limit:
        console.say(f"{len(rows) - limit} older ones are not shown; --limit {len(rows)} shows all")


def tell_last_good(report: Report, lock: Kept | None, *, as_json: bool) -> None:
    """Print what the last good run was about and what to type to get it back.

    Args:
        report: of that run.
        lock: the lockfile that was kept then, if any.
        as_json: as the one document on stdout.
    """
    state, of = _state(report), parts(report)
    path = lock.path if lock else None
    if as_json:
        ways = [{"what": what, "type": command} for what, command in _ways(report, state, path)]
        kept = str(path) if path else None
        console.payload("history", {**_report_json(report), "environment": state, "lock": kept, "ways": ways})
        return
    console.fact(
        "passed",
        f"{when(report.started)}, {report.level.word}, {counted(len(report.results), 'check')}, {_where(report)}",
    )
    console.fact("env", f"{report.prefix}{_made_of(report)}")
    console.fact("machine", f"{of.card}, driver {of.driver}" if of.driver else of.card)
    console.fact("versions", ", ".join(f"{name} {version}" for name, version in report.versions.items()) or "unknown")
    console.fact("state", _SENTENCES[state])
    console.fact("lock", f"{lock.path}, written by {_account(lock.owner)}" if lock else "none was kept")
    for what, command in _ways(report, state, path):
        console.fact(what, command)


def tell_differences(before: Report, after: Report, *, as_json: bool) -> None:
    """Print what changed from one report to another."""
    found = differences(before, after)
    if as_json:
        changed = [{"kind": one.kind, "name": one.name, "before": one.before, "after": one.after} for one in found]
        console.payload(
            "history", {"before": _report_json(before), "after": _report_json(after), "differences": changed}
        )
        return
    for label, report in (("from", before), ("to", after)):
        console.fact(label, f"{when(report.started)}, {in_short(report)}, {report.prefix}, {_where(report)}")
    console.out()
    if not found:
        console.out("nothing has changed: machine, versions, environment, checks and figures are the same")
        return
    rows = [(one.kind, one.name, _short(one.name, one.before), "→", _short(one.name, one.after)) for one in found]
    console.table(("what", "", "before", "", "after"), rows)


def _short(name: str, text: str) -> str:
    return text[:SHORT] if name == "fingerprint" else text


def _row(row: Combination) -> tuple[str, ...]:
    of, report = row.parts, row.report
    cells = (of.card, of.driver, of.cuda, of.torch, of.models, of.accelerators, of.fingerprint[:SHORT], report.prefix)
    return (minute(report.started), in_short(report), *(cell or _NONE for cell in cells))


def _where(report: Report) -> str:
    return f"on {report.hostname}" if report.hostname else "on an unnamed machine"


def _made_of(report: Report) -> str:
    known = [f"{what} {name}" for what, name in _layers(report)]
    return f" ({', '.join(known)})" if known else ""


def _combination_json(row: Combination, path: Path) -> dict[str, Any]:
    return {**_report_json(row.report), "runs": row.runs, "file": str(path)}


def _report_json(report: Report) -> dict[str, Any]:
    of = parts(report)
    return {
        "started": report.started,
        "verdict": in_short(report),
        "level": report.level.word,
        "prefix": report.prefix,
        "hostname": report.hostname,
        "card": of.card,
        "driver": report.host.driver,
        "versions": dict(report.versions),
        "model_libraries": of.models,
        "accelerators": of.accelerators,
        "fingerprint": report.fingerprint,
        "tier": report.tier,
        "recipe": report.recipe,
    }


_SENTENCES = {
    "unchanged": "the environment is there, and as it was then",
    "changed": "the environment is there, but was changed since",
    "unreadable": "the environment is there, but not all of it can be read, so nobody knows whether it was changed",
    "gone": "the environment is not there any more",
}


def _state(report: Report) -> str:
    """Return whether the environment is as it was at the time of the report; a key of the sentences."""
    from conda_llmenv.errors import PrefixError
    from conda_llmenv.prefix.fingerprint import fingerprint
    from conda_llmenv.prefix.location import is_environment

    prefix = Path(report.prefix)
    if not is_environment(prefix):
        return "gone"
    try:
        return "unchanged" if fingerprint(prefix) == report.fingerprint else "changed"
    except PrefixError:
        return "unreadable"


def _ways(report: Report, state: str, lock: Path | None) -> Iterator[tuple[str, str]]:
    """Yield what to type, each with a word that says what it does."""
    prefix = Path(report.prefix)
    target = _target(prefix)
    if state == "unchanged":
        yield "use it", f"conda activate {target.split(' ', 1)[1]}"
    elif state != "gone":
        yield "compare", f"llmenv history {target} --diff"
    beside = _target(prefix if state == "gone" else prefix.with_name(f"{prefix.name}-again"))
    if lock is not None:
        yield "again", f"llmenv create --lock {shlex.quote(str(lock))} {beside}"
    elif state == "unchanged":
        yield "lock it", f"llmenv export {target} --format conda-lock -o conda-lock.yml"
    elif report.tier or report.recipe:
        layers = [f"--{what} {shlex.quote(name)}" for what, name in _layers(report)]
        yield "again", f"llmenv create {' '.join(layers)} {beside}"
        yield "", "this solves anew: to get these very versions, ask for those above that matter"


def _layers(report: Report) -> list[tuple[str, str]]:
    return [(what, name) for what, name in (("tier", report.tier), ("recipe", report.recipe)) if name]


def _account(number: int) -> str:
    """Return who an account is: a lockfile says what is installed, so one should know whose it is."""
    if number == os.geteuid():
        return "you"
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"account {number}"


def _target(prefix: Path) -> str:
    from conda_llmenv.cli.wiring import user_config

    named = prefix.parent in user_config().envs_dirs
    return f"-n {shlex.quote(prefix.name)}" if named else f"-p {shlex.quote(str(prefix))}"
