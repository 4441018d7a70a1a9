"""The whole page: the verdict first, then what failed, the ladder, the baselines, and where it was run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from conda_llmenv.checks.moments import when
from conda_llmenv.checks.units import duration
from conda_llmenv.checks.verdict import sentence
from conda_llmenv.model import Report, Status
from conda_llmenv.page.baseline import baseline
from conda_llmenv.page.circumstances import machine, run, versions
from conda_llmenv.page.ladder import ladder, overview, troubles
from conda_llmenv.page.marks import mark, tally, worst
from conda_llmenv.page.markup import Markup, element
from conda_llmenv.page.style import CSS
from conda_llmenv.page.taming import tamed

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""A browser runs no script and fetches nothing for this page, even were something in it to ask."""


def render(report: Report, earlier: Mapping[str, tuple[float, ...]]) -> str:
    """Return a report as one HTML file that refers to nothing outside itself.

    Args:
        report: the run to show.
        earlier: name of a figure, or ``seconds:ID`` of a check, to its values in earlier comparable runs.
    """
    body = element("body", _header(report), _main(report, earlier), _footer(report))
    return f"<!doctype html>\n{element('html', _head(report), body, lang='en')}\n"


def _head(report: Report) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name_="color-scheme", content="light dark"),
        element("title", f"{_name(report)}: {sentence(report)}"),
        element("style", CSS),
    )


def _header(report: Report) -> Markup:
    statuses = [result.status for result in report.results]
    reused = f", reusing results of {when(report.reused_from)}" if report.reused_from else ""
    said = f"{_sentence_case(report.level.word)} verification of {_name(report)} on {report.hostname or 'this machine'}"
    return element(
        "header",
        element("p", said, class_="kicker"),
        element("div", mark(_decisive(report)), element("h1", _sentence_case(sentence(report))), class_="verdict"),
        element("ul", tally(statuses), class_="tally"),
        element("p", f"{when(report.started)}, {duration(report.seconds)}{reused}", class_="quiet"),
        overview(report),
        class_=_decisive(report).value,
    )


def _main(report: Report, earlier: Mapping[str, tuple[float, ...]]) -> Markup:
    return element(
        "main",
        troubles(report),
        ladder(report),
        baseline(report, earlier),
        machine(report),
        versions(report),
        run(report),
    )


def _footer(report: Report) -> Markup:
    return element("footer", element("p", f"Written by llmenv {report.llmenv}, {when(report.started)}."))


def _decisive(report: Report) -> Status:
    """Return the status that colours the page; a pass that proves too little is none to be green about."""
    status = worst([result.status for result in report.results])
    return Status.WARN if status is Status.PASS and report.unproven else status


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _name(report: Report) -> str:
    """Return the environment's name: the last part of its path."""
    return PurePosixPath(tamed(report.prefix)).name or report.prefix
