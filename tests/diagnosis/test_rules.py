"""The table of known error texts: every rule on realistic texts and near misses, and what a rule has to have."""

from __future__ import annotations

import json
import re
import string
import time
from pathlib import Path

import msgspec
import pytest

from conda_llmenv.checks.registry import BY_ID
from conda_llmenv.diagnosis.matching import read_log
from conda_llmenv.diagnosis.prefilter import Prefilter
from conda_llmenv.diagnosis.rules import LineSequence, Rule, packaged_rules, read_rules
from tests.diagnosis.corpus import Text, texts

RULES = packaged_rules()
PREFILTER = Prefilter(RULES)
DATA = Path(__file__).parent.parent.parent / "conda_llmenv" / "data" / "symptoms.json"


def shown(log: str) -> set[str]:
    """Return the rules that a log shows."""
    return {one.fault.rule.id for one in read_log([log.encode()], PREFILTER).faults}


def parts(rule: Rule) -> list[str]:
    """Return every regular expression of a rule."""
    return [
        part
        for pattern in rule.patterns
        for part in (pattern.sequence if isinstance(pattern, LineSequence) else (pattern,))
    ]


@pytest.mark.parametrize("text", [text for text in texts() if text.shows], ids=lambda text: text.name)
def test_a_text_is_named(text: Text) -> None:
    """The fault is found, and no other is claimed."""
    assert shown(text.log) == {text.rule} | text.others


@pytest.mark.parametrize("text", [text for text in texts() if not text.shows], ids=lambda text: text.name)
def test_a_near_miss_is_not_named(text: Text) -> None:
    """Words that look alike are not taken for the fault."""
    assert text.rule not in shown(text.log)


@pytest.mark.parametrize("text", [text for text in texts() if text.shows], ids=lambda text: text.name)
@pytest.mark.parametrize(
    "dressed",
    ["2026-11-30 12:00:00,123 ERROR {}", "[rank7]: {}", "\x1b[1;31m{}\x1b[0m", "[default3]:{}", "3: {}", "{}\r"],
)
def test_what_launchers_and_loggers_put_around_it_does_not_matter(text: Text, dressed: str) -> None:
    """Timestamps, labels of ranks, colours and Windows line ends are looked through."""
    log = "".join(dressed.format(line) + "\n" for line in text.log.splitlines())
    assert text.rule in shown(log)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_each_rule_has_texts_of_both_kinds(rule: Rule) -> None:
    """A rule without a text that shows it, or without a near miss, is not tested."""
    assert {text.shows for text in texts() if text.rule == rule.id} == {not rule.unknown, False}


def test_each_pattern_is_shown_by_a_text() -> None:
    """No regular expression is there for nothing."""
    logs = "".join(text.log for text in texts() if text.shows).splitlines()
    known = [(rule.id, pattern) for rule in RULES if not rule.unknown for pattern in parts(rule)]
    assert [(rule, pattern) for rule, pattern in known if not any(re.search(pattern, log) for log in logs)] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_sentences_can_be_filled(rule: Rule) -> None:
    """Every name in a sentence is found by a pattern, and has words for when it is not."""
    for pattern in rule.patterns:
        found = {
            name
            for part in (pattern.sequence if isinstance(pattern, LineSequence) else (pattern,))
            for name, number in re.compile(part).groupindex.items()
            if not _is_optional(part, number)
        }
        for sentence in (rule.symptom, rule.cause, rule.action):
            names = {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}
            assert names <= found | set(rule.otherwise), pattern


def _is_optional(pattern: str, group: int) -> bool:
    """Return whether a pattern can match without a group: it stands in an optional part."""
    opened = re.compile(r"\(\?P<")
    start = [match.start() for match in opened.finditer(pattern)][group - 1]
    return bool(re.search(r"\(\?:[^()]*$", pattern[:start])) and ")?" in pattern[start:]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_each_rule_is_complete(rule: Rule) -> None:
    """Sentences, sources and references are there and well formed."""
    ids = {other.id for other in RULES}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id)
    assert all(len(sentence) > 20 for sentence in (rule.cause, rule.action))
    assert all(not sentence.endswith(".") for sentence in (rule.symptom, rule.cause, rule.action))
    assert rule.sources
    assert set(rule.follows) <= ids | {"*"}
    assert rule.check is None or rule.check in BY_ID
    assert set(re.findall(r"--only ([\w-]+)", rule.action)) <= set(BY_ID)
    assert all(len(needle) >= 5 for needle in rule.needles)


def test_ids_are_unique() -> None:
    """A rule is known by its id."""
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))


def test_the_table_is_dated_and_has_a_source() -> None:
    """As every table of this package."""
    table = json.loads(DATA.read_text(encoding="utf-8"))
    assert table["as_of"] >= "2026-01-01"
    assert len(table["symptoms"]["source"]) > 20
    assert {rule.rank // 10 * 10 for rule in RULES} == {int(rank) for rank in table["symptoms"]["ranks"]}


def test_a_mistake_in_a_table_is_told() -> None:
    """An unknown key is an error and not silently ignored."""
    table = json.loads(DATA.read_text(encoding="utf-8"))
    table["symptoms"]["entries"][0]["patern"] = "x"
    with pytest.raises(msgspec.ValidationError, match="patern"):
        read_rules(json.dumps(table).encode())


HOSTILE = {
    "letters": "a",
    "digits": "7",
    "blanks": " ",
    "dots": "1.",
    "words": "abc ",
    "quotes": "'\"`",
    "parentheses": "((",
    "hex": "0x0 ",
    "sizes": "1.00 GiB ",
    "paths": "/a",
    "signs": "_ZN",
}


@pytest.mark.parametrize("filler", HOSTILE.values(), ids=HOSTILE)
def test_no_pattern_needs_more_than_linear_time(filler: str) -> None:
    """A long line of one kind of characters, after whatever a pattern begins with, costs no pattern much."""
    body = (filler * 4096)[:4096]
    slow = []
    for rule in RULES:
        openings = {"", *rule.needles, *(text.log.strip()[:40] for text in texts() if text.rule == rule.id)}
        for pattern in parts(rule):
            expression = re.compile(pattern)
            begun = time.perf_counter()
            for opening in openings:
                expression.search(opening + body)
                expression.search((opening + filler) * (4096 // (len(opening) + len(filler))))
            spent = (time.perf_counter() - begun) / len(openings)
            slow += [(rule.id, pattern, spent)] if spent > 0.05 else []
    assert slow == []


def test_a_line_that_begins_over_and_over_is_read_in_time() -> None:
    """Where a text is repeated without a line end, every place is tried; the time still grows with the length."""
    slow = []
    for opening in {*(needle for rule in RULES for needle in rule.needles), *(text.log.strip() for text in texts())}:
        log = (opening.replace("\n", " ").encode() * 16_384)[:16_384]
        begun = time.perf_counter()
        read_log([log], PREFILTER)
        slow += [opening] if time.perf_counter() - begun > 1 else []
    assert slow == []
