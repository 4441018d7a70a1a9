"""What programs, names and paths may hold, and how the page shows it: literally, visibly, briefly, without secrets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from conda_llmenv.model import CheckResult, Finding, Gpu, HostFacts, Level, Status
from conda_llmenv.page import render
from conda_llmenv.page.taming import tamed
from tests.page.sample import EARLIER, REPORT
from tests.page.tree import parsed

SCRIPT = "</style></title><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x"
TAGS = {node.tag for node in parsed(render(REPORT, EARLIER)).walk()}


def page_of(text: str) -> str:
    """Render a run in which every text is the given one."""
    finding = Finding(Status.FAIL, text, text, text, text, (text,), {text: 1.0, f"{text}_gbs": 2.0})
    host = HostFacts(
        text, text, text, text, driver=text, cuda_max=text, gpus=(Gpu(text),), gpu_source=text, problems=(text,)
    )
    return render(
        replace(
            REPORT, prefix=text, started=text, results=(CheckResult(text, text, text, Level.FULL, finding, 1.0),),
            host=host, hostname=text, fingerprint=text, tier=text, recipe=text, versions={text: text}, llmenv=text,
            reused_from=text, unproven=text,
        ),
        {text: (1.0,), f"seconds:{text}": (1.0,)},
    )  # fmt: skip


def test_markup_in_any_text_is_shown_and_not_obeyed() -> None:
    """Whatever field it comes in by, ``<script>`` is text."""
    document = parsed(page_of(SCRIPT))
    assert {node.tag for node in document.walk()} <= TAGS
    assert not any(name.startswith("on") for node in document.walk() for name in node.attributes)
    assert document.text.count("<script>alert(1)</script>") > 20


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a␀b"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]0;title\x07a", "a"),
        ("\x1b alone", "␛ alone"),
        ("safe\u202egnp.exe", "safe\ufffdgnp.exe"),
        ("\u2066hidden\u2069", "\ufffdhidden\ufffd"),
        ("zero\u200bwidth", "zero\ufffdwidth"),
        ("lone \udce9 byte", "lone \ufffd byte"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("tab\there", "tab\there"),
        ("größer 测试 مرحبا", "größer 测试 مرحبا"),
    ],
)
def test_what_hides_or_turns_is_made_visible(text: str, shown: str) -> None:
    """Controls, direction marks and broken bytes are shown as pictures; foreign scripts stay as they are."""
    assert tamed(text) == shown
    assert shown in parsed(page_of(text)).text
    page_of(text).encode("utf-8")


def test_long_lines_and_long_texts_are_cut_with_a_word() -> None:
    """A line of 10 kB and an output of 5,000 lines leave a page that can be read, and say what is left out."""
    assert tamed("x" * 10_000).endswith("x … and 9,000 more characters")
    assert tamed("line\n" * 5_000).endswith("\n… and 4,801 more lines")
    assert len(page_of("y" * 10_000)) < 100_000


def test_many_lines_of_detail_are_cut_too() -> None:
    """Details are one text, however many lines they come in."""
    finding = Finding(Status.FAIL, "s", detail=tuple(f"line {number}" for number in range(5_000)))
    text = parsed(render(replace(REPORT, results=(CheckResult("a", "g", "t", Level.FULL, finding),)), {})).text
    assert "line 199\n… and 4,800 more lines" in text


@pytest.mark.parametrize(
    "secret",
    [
        "https://user:pass" + "word1@host/simple",
        "hf_" + "abcdefghijklmnopqrstuvwxyz",
        "HF_TOKEN=" + "0123456789abcdef0123",
        "\x1b[31mhf_" + "abcdefghijklmnopqrstuvwxyz",
        "\x00hf_" + "abcdefghijklmnopqrstuvwxyz",
    ],
)
def test_secrets_are_masked_wherever_they_stand(secret: str) -> None:
    """No field brings a password or token onto a page that is shown around, even behind a colour code."""
    page = page_of(f"see {secret} there")
    for part in ("password1", "abcdefghijklmnop", "0123456789abcdef"):
        assert part not in page
    assert "***" in page


def test_a_secret_that_is_cut_is_masked_first() -> None:
    """The end of the longest line is no place to leave the first half of a token."""
    page = page_of("x" * 985 + " hf_" + "a" * 40)
    assert "x" * 985 in page
    assert "hf_aaa" not in page


@given(st.text(alphabet=st.characters(), max_size=60))
@settings(max_examples=40, deadline=None)
def test_any_text_leaves_a_page_that_is_nested_properly(text: str) -> None:
    """Whatever is printed, the page is of the elements it has without it, and can be written as UTF-8."""
    page = page_of(text)
    page.encode("utf-8")
    assert {node.tag for node in parsed(page).walk()} <= TAGS
