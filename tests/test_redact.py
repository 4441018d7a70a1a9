"""Secrets are masked for people and stripped from files, quickly, and nothing else is touched."""

from __future__ import annotations

import time

import pytest

from conda_llmenv.redact import has_placeholder, has_secret, mask, mask_values, strip

CASES = [
    ("https://h.example/t/tk-abc/main", "https://h.example/t/***/main", "https://h.example/main"),
    ("https://h.example/conda/t/tk-abc/main", "https://h.example/conda/t/***/main", "https://h.example/conda/main"),
    ("https://u:p@h.example/simple", "https://***@h.example/simple", "https://h.example/simple"),
    ("git+https://x-access:tok@h.example/r.git", "git+https://***@h.example/r.git", "git+https://h.example/r.git"),
    ("https://h.example/x?token=abc&page=2", "https://h.example/x?token=***&page=2", "https://h.example/x?page=2"),
    ("Authorization: Bearer abc", "Authorization: Bearer ***", "Authorization: Bearer "),
    ("HF_TOKEN=hf_abc", "HF_TOKEN=***", "HF_TOKEN="),
]


@pytest.mark.parametrize(("text", "masked", "stripped"), CASES)
def test_a_secret_is_masked_and_stripped(text: str, masked: str, stripped: str) -> None:
    """What is shown keeps the address; what is written can be read again elsewhere."""
    assert mask(text) == masked
    assert strip(text) == stripped
    assert has_secret(text)
    assert mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "/data/t/project/env",
        "file:///data/t/project/channel",
        "git+ssh://git@h.example/r.git",
        "https://${USER}:${TOKEN}@h.example/simple",
        "name@1.0 and someone@example.org",
        "https://h.example/a/b?page=2",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Paths with a folder called t, accounts and references to variables are no secrets."""
    assert mask(text) == text
    assert strip(text) == text


@pytest.mark.parametrize(
    "text", ["y" * 200_000, "https://" + "a/" * 100_000, "://" * 60_000, "a@" * 60_000, "/t/" * 60_000]
)
def test_long_text_takes_no_longer_than_it_is(text: str) -> None:
    """A tool that prints a megabyte on one line must not stall the program that masks it."""
    started = time.process_time()
    mask(text)
    strip(text)
    assert time.process_time() - started < 5


def test_values_are_masked_wherever_they_are() -> None:
    """A payload keeps its shape and loses its secrets."""
    assert mask_values({"a": ["https://u:p@h/x", 1, None], "b": {"c": "HF_TOKEN=x"}}) == {
        "a": ["https://***@h/x", 1, None],
        "b": {"c": "HF_TOKEN=***"},
    }


@pytest.mark.parametrize("text", ["https://h/t/<TOKEN>/main", "https://<token>@h/simple", "https://***@h/simple"])
def test_a_placeholder_is_recognised(text: str) -> None:
    """Somebody's export left it behind; asking for it literally can only fail."""
    assert has_placeholder(text)
