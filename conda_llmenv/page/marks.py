"""How a status looks: a word and a drawn mark, so that colour is never what tells them apart."""

from __future__ import annotations

from conda_llmenv.checks.verdict import WORDS, WORST_FIRST
from conda_llmenv.model import Status
from conda_llmenv.page.markup import Markup, element, joined

DECISIVE = (Status.FAIL, Status.ERROR, Status.WARN, Status.PASS, Status.SKIP)
"""A skipped check says nothing of a group while another one of it ran."""

_DRAWN = {
    Status.PASS: "M5.5 10.5l3 3 6-6.5",
    Status.WARN: "M10 5v6M10 14v.5",
    Status.FAIL: "M6.5 6.5l7 7M13.5 6.5l-7 7",
    Status.SKIP: "M6 10h8",
    Status.ERROR: "M7.5 8a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.6M10 14.5v.3",
}


def mark(status: Status) -> Markup:
    """Return the round mark of a status; it says nothing to a screen reader, for which the word stands beside it."""
    return element(
        "svg", element("circle", cx="10", cy="10", r="10"), element("path", d=_DRAWN[status]),
        class_=f"mark {status.value}", viewBox="0 0 20 20", width="20", height="20", aria_hidden="true",
    )  # fmt: skip


def badge(status: Status) -> Markup:
    """Return mark and word."""
    return element("span", mark(status), element("span", WORDS[status]), class_=f"badge {status.value}")


def tally(statuses: list[Status]) -> Markup:
    """Return how many there are of each status, worst first."""
    counts = ((status, statuses.count(status)) for status in WORST_FIRST)
    return joined(
        element("li", mark(status), element("span", f"{count} {WORDS[status]}"), class_=status.value)
        for status, count in counts
        if count
    )


def worst(statuses: list[Status]) -> Status:
    """Return the status that decides for all of them."""
    return next((status for status in DECISIVE if status in statuses), Status.SKIP)
