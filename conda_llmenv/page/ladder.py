"""The ladder on the page: what went wrong first, then every check in its group."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from conda_llmenv.checks.units import duration
from conda_llmenv.model import CheckResult, Report, Status
from conda_llmenv.page.marks import badge, mark, tally, worst
from conda_llmenv.page.markup import Markup, element, joined
from conda_llmenv.page.taming import tamed


def troubles(report: Report) -> Markup:
    """Return the sections of what failed and of what to be warned of; nothing where there is neither."""
    failed = report.by_status(Status.FAIL) + report.by_status(Status.ERROR)
    warned = report.by_status(Status.WARN)
    return joined((_troubles("failed", "What failed", failed), _troubles("warnings", "Warnings", warned)))


def _troubles(name: str, heading: str, results: tuple[CheckResult, ...]) -> Markup:
    if not results:
        return Markup()
    return section(name, heading, *map(_trouble, results))


def _trouble(result: CheckResult) -> Markup:
    finding = result.finding
    return element(
        "article",
        element("h3", badge(result.status), element("a", result.title, href=f"#{anchor(result)}")),
        element("p", finding.summary, class_="sentence"),
        _compared(result),
        _fix(finding.fix),
        class_=f"trouble {result.status.value}",
    )


def _fix(fix: str) -> Markup:
    return joined((element("p", "Fix", class_="fix-head"), element("pre", fix, class_="fix"))) if fix else Markup()


def overview(report: Report) -> Markup:
    """Return the rungs as links: a group's name, its worst mark and how many of its checks passed."""
    return element(
        "nav",
        element("ol", *itertools.starmap(_rung, grouped(report.results))),
        class_="rungs",
        aria_label="Checks that passed, by group",
    )


def _rung(group: str, results: tuple[CheckResult, ...]) -> Markup:
    statuses = [result.status for result in results]
    passed = statuses.count(Status.PASS)
    return element(
        "li",
        element(
            "a", mark(worst(statuses)), element("b", group), f" {passed} of {len(results)}",
            href=f"#group-{slug(group)}",
        ),
    )  # fmt: skip


def ladder(report: Report) -> Markup:
    """Return every check, by group, in the order of the ladder."""
    return section("ladder", "Ladder", *itertools.starmap(_group, grouped(report.results)))


def _group(group: str, results: tuple[CheckResult, ...]) -> Markup:
    counts = element("ul", tally([result.status for result in results]), class_="tally")
    return element(
        "section",
        element("div", element("h3", group, id=f"group-{slug(group)}-name"), counts, class_="group-head"),
        element("ul", *map(_result, results), class_="results"),
        class_="group", id=f"group-{slug(group)}", aria_labelledby=f"group-{slug(group)}-name",
    )  # fmt: skip


def _result(result: CheckResult) -> Markup:
    title = element("h4", result.title, " ", element("code", result.id))
    told = element(
        "div", title, element("p", result.finding.summary), _compared(result), _details(result), class_="told"
    )
    took = element("span", "reused" if result.reused else duration(result.seconds), class_="took")
    return element("li", badge(result.status), told, took, class_=f"result {result.status.value}", id=anchor(result))


def _compared(result: CheckResult) -> Markup:
    """Return what was measured beside what was expected; nothing where a check compares nothing."""
    finding = result.finding
    return pairs(
        ((name, text) for name, text in (("measured", finding.measured), ("expected", finding.expected)) if text),
        "compared",
    )


def _details(result: CheckResult) -> Markup:
    """Return the further facts and, where something is to be done, the next step, folded away."""
    finding = result.finding
    fix = "" if result.status in {Status.PASS, Status.SKIP} else finding.fix
    if not finding.detail and not fix:
        return Markup()
    facts = element("pre", "\n".join(finding.detail)) if finding.detail else ""
    return element("details", element("summary", "Details"), facts, _fix(fix))


def grouped(results: Iterable[CheckResult]) -> list[tuple[str, tuple[CheckResult, ...]]]:
    """Return the results of each group, groups in the order in which they begin."""
    found: dict[str, list[CheckResult]] = {}
    for result in results:
        found.setdefault(result.group, []).append(result)
    return [(group, tuple(members)) for group, members in found.items()]


def anchor(result: CheckResult) -> str:
    """Return the name by which a link finds a check on the page."""
    return f"check-{slug(result.id)}"


def slug(text: str) -> str:
    """Return text as part of an id: what is no letter, digit or hyphen becomes a hyphen."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", tamed(text))


def section(name: str, heading: str, *children: str) -> Markup:
    """Return a section with its heading."""
    title = element("h2", heading, id=f"{name}-heading")
    return element("section", title, *children, id=name, aria_labelledby=f"{name}-heading")


def pairs(facts: Iterable[tuple[str, str]], class_: str) -> Markup:
    """Return names with their values as a list of definitions; nothing where there are none."""
    rows = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    return element("dl", *rows, class_=class_) if rows else Markup()
