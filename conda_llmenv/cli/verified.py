"""How a report of the ladder is told: a line a group, what is wrong in full, and one verdict at the end."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from conda_llmenv.checks.verdict import WORDS, counts, passed, proves, sentence, worst_first
from conda_llmenv.cli import console
from conda_llmenv.cli.verdicts import MARKS
from conda_llmenv.model import CheckResult, Report, Status

BETWEEN, NO_BREAK = "   ", "\N{NO-BREAK SPACE}"

SHOWN_LINES = 16
"""Lines of detail below a result that is wrong: where each of eight ranks was, and the end of what they printed."""


def say_report(report: Report, *, verbose: bool, quiet: bool, strict: bool) -> None:
    """Print a report; ``quiet`` leaves what is wrong and the verdict."""
    if not quiet:
        say_ladder(report, verbose=verbose or not report.whole)
    say_wrong(report, warnings=strict or not quiet)
    console.out()
    console.out(sentence(report))
    if not quiet:
        console.out(counts(report))


def say_wrong(report: Report, *, warnings: bool = True) -> None:
    """Print in full what failed, could not be run or, unless left out, warned, the worst first."""
    wrong = [Status.FAIL, Status.ERROR, *([Status.WARN] if warnings else [])]
    for result in worst_first(report.by_status(*wrong)):
        console.out()
        console.out("\n".join(result_lines(result)))


def say_ladder(report: Report, *, verbose: bool) -> None:
    """Print each group on a line of its own, or each check on one."""
    groups = dict.fromkeys(result.group for result in report.results)
    for group in groups:
        those = [result for result in report.results if result.group == group]
        if verbose:
            for number, result in enumerate(those):
                console.fact(group if number == 0 else "", check_line(result))
        else:
            console.out("\n".join(_wrapped(group, group_line(those))))


def _wrapped(group: str, line: str) -> list[str]:
    """Return a group's line, broken between checks where the screen ends and never between a check and its mark."""
    kept = BETWEEN.join(part.replace(" ", NO_BREAK) for part in line.split(BETWEEN))
    wrapped = console.wrapped(f"{group:<{console.LABEL_WIDTH}}{kept}", " " * console.LABEL_WIDTH)
    return [one.replace(NO_BREAK, " ") for one in wrapped]


def group_line(results: list[CheckResult]) -> str:
    """Return a group's checks side by side, those that were skipped counted at the end."""
    tried = [result for result in results if result.status is not Status.SKIP]
    shown = [f"{result.id} {MARKS[result.status]}" for result in tried]
    skipped = len(results) - len(shown)
    reused = ["(as in the last whole run)"] if tried and all(result.reused for result in tried) else []
    return BETWEEN.join([*shown, *([f"{skipped} skipped"] if skipped else []), *reused])


def check_line(result: CheckResult) -> str:
    """Return one check with what was found."""
    seconds = f"   {result.seconds:.1f} s" if result.seconds >= 0.1 else ""  # noqa: PLR2004 - less says nothing
    reused = "   (as it was)" if result.reused else ""
    return f"{MARKS[result.status]} {_told(result)}{seconds}{reused}"


def _told(result: CheckResult) -> str:
    """Return the sentence of a check with its id, which some begin with already."""
    summary = result.finding.summary
    return summary if summary.startswith(f"{result.id}: ") else f"{result.id}: {summary}"


def result_lines(result: CheckResult) -> list[str]:
    """Return a result that is wrong: what, measured against expected, details, and the next step."""
    finding = result.finding
    lines = [f"{WORDS[result.status]}: {_told(result)}"]
    if finding.expected:
        measured = f"measured {finding.measured}, " if finding.measured else ""
        lines.append(f"  {measured}expected {finding.expected}")
    lines += [f"  {line}" for line in finding.detail[:SHOWN_LINES]]
    if len(finding.detail) > SHOWN_LINES:
        lines.append(f"  … and {len(finding.detail) - SHOWN_LINES} more; `llmenv verify --json` has all of them")
    if finding.fix:
        lines.append(f"  fix  {finding.fix}")
    return lines


def report_json(report: Report) -> dict[str, Any]:
    """Return a report as it stands in a payload."""
    return {
        "verdict": sentence(report),
        "passed": passed(report),
        "verified": proves(report),
        **{key: value for key, value in to_builtins(report).items() if key not in {"results", "level"}},
        "level": report.level.word,
        "checks": [result_json(result) for result in report.results],
    }


def result_json(result: CheckResult) -> dict[str, Any]:
    """Return one result as it stands in a payload."""
    return {
        "id": result.id,
        "group": result.group,
        "title": result.title,
        "level": result.level.word,
        "seconds": result.seconds,
        "reused": result.reused,
        **to_builtins(result.finding),
    }
