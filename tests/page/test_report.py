"""The page as text: everything is on it, once, and nothing on it comes from anywhere else."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import pytest
from msgspec.structs import replace

from conda_llmenv.checks.verdict import sentence
from conda_llmenv.model import HostFacts, Level, Report, Status
from conda_llmenv.page import render
from tests.page.sample import EARLIER, REPORT, passed, result
from tests.page.tree import Node, parsed


@pytest.fixture(scope="module")
def page() -> str:
    """Render the sample run."""
    return render(REPORT, EARLIER)


@pytest.fixture(scope="module")
def document(page: str) -> Node:
    """Read the sample run's page."""
    return parsed(page)


def test_the_verdict_is_the_only_main_heading(document: Node) -> None:
    """The verdict sentence is the page's one h1, before all else that is a heading."""
    headings = [node for node in document.walk() if re.fullmatch("h[1-6]", node.tag)]
    assert [node.tag for node in headings].count("h1") == 1
    assert headings[0].tag == "h1"
    assert headings[0].text.lower() == sentence(REPORT).lower()


def test_headings_leave_out_no_level(document: Node) -> None:
    """A screen reader's outline has no holes."""
    levels = [int(node.tag[1]) for node in document.walk() if re.fullmatch("h[1-6]", node.tag)]
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels))


def test_every_check_is_on_the_ladder_once(document: Node) -> None:
    """All 31 checks are there in order, each with its word, title, sentence and seconds."""
    rows = document.all("li", "result")
    assert [row.all("code")[0].text for row in rows] == [entry.id for entry in REPORT.results]
    for row, entry in zip(rows, REPORT.results, strict=True):
        assert row.attributes["id"] == f"check-{entry.id}"
        assert entry.title in row.text
        assert entry.finding.summary in row.text
        assert entry.finding.measured in row.text
        assert entry.finding.expected in row.text
        assert all(line in row.text for line in entry.finding.detail)
    words = Counter(row.all("span", "badge")[0].text for row in rows)
    assert words == {"passed": 25, "failed": 2, "skipped": 2, "warned": 1, "could not be run": 1}


def test_what_failed_is_told_first_with_its_fix(document: Node) -> None:
    """Failures come before warnings and both before the ladder, with what was measured, expected and what to do."""
    main = document.all("main")[0]
    names = [child.attributes["id"] for child in main.children if isinstance(child, Node)]
    assert names == ["failed", "warnings", "ladder", "baseline", "machine", "versions", "run"]
    titles = [article.all("a")[0].text for article in main.all("article")]
    assert titles == ["Shared memory", "DataLoader workers", "GPU memory", "LD_LIBRARY_PATH"]
    first = main.all("article")[0]
    assert [value.text for value in first.all("dd")] == ["64 MiB", ">=1.2 GiB"]
    assert "mount -o remount,size=16g /dev/shm" in first.all("pre", "fix")[0].text


def test_what_passed_has_no_next_step() -> None:
    """A check's own fix is for when it fails; below a pass or a skip it would be a false alarm."""
    for status, shown in ((Status.PASS, 0), (Status.SKIP, 0), (Status.WARN, 2), (Status.FAIL, 2), (Status.ERROR, 2)):
        report = replace(REPORT, results=(result("a", "host", "A", status, "told", fix="ulimit -n 65536"),))
        assert parsed(render(report, {})).text.count("ulimit -n 65536") == shown, status


def test_a_clean_run_has_no_section_of_failures() -> None:
    """Where all passed there is nothing to read before the ladder."""
    report = replace(REPORT, results=REPORT.by_status(Status.PASS))
    main = parsed(render(report, {})).all("main")[0]
    assert next(child.attributes["id"] for child in main.children if isinstance(child, Node)) == "ladder"


def test_every_link_leads_to_something_on_the_page(document: Node) -> None:
    """Links stay on the page and find their place; no id stands twice."""
    ids = [node.attributes["id"] for node in document.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    links = [node.attributes["href"] for node in document.walk() if "href" in node.attributes]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(ids)
    for attribute in ("aria-labelledby", "aria-describedby"):
        assert {node.attributes[attribute] for node in document.walk() if attribute in node.attributes} <= set(ids)


def test_nothing_comes_from_outside(page: str, document: Node) -> None:
    """No address, no import, no script: what is read is in the file."""
    assert not re.search(r"https?:|//\w|@import|url\(|\bsrc(set)?=", page)
    tags = {node.tag for node in document.walk()}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "video", "audio", "base", "form", "use"}
    assert not any(name.startswith("on") for node in document.walk() for name in node.attributes)
    policy = next(node for node in document.all("meta") if "http-equiv" in node.attributes)
    assert policy.attributes["content"].startswith("default-src 'none'")


def test_the_page_is_for_phones_and_for_screen_readers(document: Node) -> None:
    """It says its language and width, and has the landmarks by which a reader moves."""
    assert document.all("html")[0].attributes["lang"] == "en"
    names = {node.attributes.get("name"): node.attributes.get("content") for node in document.all("meta")}
    assert names["viewport"] == "width=device-width, initial-scale=1"
    assert [len(document.all(tag)) for tag in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]
    assert document.all("head")[0].all("title")[0].text.startswith("sft: failed")
    assert all(mark.attributes["aria-hidden"] == "true" for mark in document.all("svg", "mark"))


def test_machine_versions_and_run_are_told(document: Node) -> None:
    """What decides whether a result can be compared: card, driver, versions, fingerprint, date, program."""
    facts = {row.all("dt")[0].text: row.all("dd")[0].text for row in document.all("div") if row.all("dt")}
    assert facts["GPUs"] == "4 × NVIDIA A100-SXM4-80GB, 80 GiB, compute capability 8.0"
    assert facts["NVIDIA driver"] == "550.54.15, runs CUDA up to 12.4"
    assert facts["memory"] == "1,008 GiB"
    assert facts["/dev/shm"] == "64 MiB"
    assert facts["locked memory"] == "unlimited"
    assert facts["torch"] == "2.6.0"
    assert facts["fingerprint"] == REPORT.fingerprint
    assert facts["started"] == "2026-11-30 19:14 UTC"
    assert facts["world sizes"] == "2, 4"
    assert facts["llmenv"] == "0.5.0"
    assert "The kernel log could not be read" in document.text


def test_what_could_not_be_read_is_said() -> None:
    """None is told as unread, not as zero or as "no"."""
    report = replace(REPORT, host=HostFacts("linux-64"), hostname="")
    document = parsed(render(report, {}))
    facts = {row.all("dt")[0].text: row.all("dd")[0].text for row in document.all("div") if row.all("dt")}
    for name in ("host", "kernel", "glibc", "memory", "/dev/shm", "open files", "stack"):
        assert facts[name] == "could not be read", name
    assert facts["GPUs"] == "none"


def test_a_pass_that_proves_too_little_is_not_green() -> None:
    """Of a GPU tier on a machine without one the page is coloured as a warning, and the reason is the verdict."""
    reason = "the tier a100 is for a GPU and this machine has none"
    report = replace(REPORT, results=REPORT.by_status(Status.PASS), unproven=reason)
    document = parsed(render(report, {}))
    assert "warn" in document.all("header")[0].classes
    assert reason in document.all("h1")[0].text


def test_a_partial_and_a_reused_run_say_so() -> None:
    """``--only`` and a preflight that reuses results must not look like a whole run."""
    report = replace(
        REPORT, results=(replace(passed("a", "host", "A", "fine"), reused=True),), level=Level.QUICK, whole=False,
        reused_from="2026-11-29T08:00:00Z",
    )  # fmt: skip
    text = parsed(render(report, {})).text
    assert "only some of its checks" in text
    assert "reusing results of 2026-11-29 08:00 UTC" in text
    assert "0.02 s" not in text


def test_a_report_without_results_is_a_page() -> None:
    """A run that was ended before its first check still has a verdict and a machine."""
    report = Report("/e", Level.QUICK, "2026-11-30T00:00:00Z", 0.1, (), HostFacts("linux-64"))
    document = parsed(render(report, {}))
    assert document.all("h1")[0].text.lower() == sentence(report).lower()
    assert document.all("section")


def test_one_line_reports_for_each_status() -> None:
    """Whatever its status, a check has a word beside its mark."""
    for status in Status:
        report = replace(REPORT, results=(result("a", "host", "A", status, "told"),))
        row = parsed(render(report, {})).all("li", "result")[0]
        assert row.all("svg", status.value)
        assert row.all("span", "badge")[0].text.strip()
