"""Secrets are masked for people and stripped from files, quickly, and nothing else is touched."""

from __future__ import annotations

import time

import pytest

from conda_llmenv.redact import has_placeholder, has_secret, holds_secret, mask, mask_values, mask_variable, strip

CASES = [
    ("https://h.example/t/tk-abc/main", "https://h.example/t/***/main", "https://h.example/main"),
    ("https://h.example/conda/t/tk-abc/main", "https://h.example/conda/t/***/main", "https://h.example/conda/main"),
    ("https://u:p@h.example/simple", "https://***@h.example/simple", "https://h.example/simple"),
    ("git+https://x-access:tok@h.example/r.git", "git+https://***@h.example/r.git", "git+https://h.example/r.git"),
    ("https://h.example/x?token=abc&page=2", "https://h.example/x?token=***&page=2", "https://h.example/x?page=2"),
    ("Authorization: Bearer abc", "Authorization: Bearer ***", "Authorization: Bearer "),
    ("HF_TOKEN=hf_abc", "HF_TOKEN=***", "HF_TOKEN="),
    ("A=1 API_KEY=abc B=2", "A=1 API_KEY=*** B=2", "A=1 API_KEY= B=2"),
    ("DB_PASSWORD=two words\nB=2", "DB_PASSWORD=***\nB=2", "DB_PASSWORD=\nB=2"),
    ("HEADER=Bearer abc", "HEADER=Bearer ***", "HEADER=Bearer "),
    (f"see ghp_{'a1' * 18}.", "see ***.", "see ."),
    ("https://h.example/x?token=abc&sig=def#x", "https://h.example/x?token=***&sig=***#x", "https://h.example/x#x"),
    (
        "https://b.example/x?X-Amz-Algorithm=A&X-Amz-Credential=I%2Fus&X-Amz-Security-Token=t&X-Amz-Signature=0a",
        "https://b.example/x?X-Amz-Algorithm=A&X-Amz-Credential=***&X-Amz-Security-Token=***&X-Amz-Signature=***",
        "https://b.example/x?X-Amz-Algorithm=A",
    ),
    (
        "https://b.example/x?AWSAccessKeyId=I&Expires=1&Signature=s%3D",
        "https://b.example/x?AWSAccessKeyId=***&Expires=1&Signature=***",
        "https://b.example/x?Expires=1",
    ),
    (
        "https://g.example/x?X-Goog-Credential=me&X-Goog-Date=1&X-Goog-Signature=0a",
        "https://g.example/x?X-Goog-Credential=***&X-Goog-Date=1&X-Goog-Signature=***",
        "https://g.example/x?X-Goog-Date=1",
    ),
    (
        "https://z.example/x?sv=2024&se=2026&sp=r&skoid=me&sig=s%3D",
        "https://z.example/x?sv=2024&se=2026&sp=r&skoid=***&sig=***",
        "https://z.example/x?sv=2024&se=2026&sp=r",
    ),
    (
        f"https://f.example/x?Policy={'eyJ0' * 20}&Signature=s~-&Key-Pair-Id=K1",
        "https://f.example/x?Policy=***&Signature=***&Key-Pair-Id=***",
        "https://f.example/x",
    ),
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
        "https://h.example/x?policy=strict&page_token=2&monkey=3&sort-key=name",
        "sk-transformers-0.11.0-pyhd8ed1ab_0.conda and hf_transfer==0.1.9 and tiktoken==0.7.0",
        "Bearer authentication failed",
        "write --config-settings=KEY=VALUE, or `conda env config vars set HF_TOKEN=…`",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Paths with a folder called t, accounts and references to variables are no secrets."""
    assert mask(text) == text
    assert strip(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("y" * 200_000, "https://" + "a/" * 100_000, "://" * 60_000, "a@" * 60_000, "/t/" * 60_000),
        *("A=" * 100_000, "API_KEY=" * 30_000, "KEY=/x." * 30_000, "a" * 200_000 + "_TOKEN", "A_" * 100_000),
        *("?token=" * 30_000, "?token=a&" * 30_000, "&sig=a" * 30_000 + "'", "?policy=x" * 30_000),
        *("Bearer " * 30_000, "sk-" * 60_000, "sk-a-" * 40_000, "hf_" + "a" * 200_000 + "_"),
    ],
)
def test_long_text_takes_no_longer_than_it_is(text: str) -> None:
    """A tool that prints a megabyte on one line must not stall the program that masks it."""
    started = time.process_time()
    mask(text)
    strip(text)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("API_KEY", "a"), ("AWS_SECRET_ACCESS_KEY", "/a+b"), ("WANDB_KEY", "a"), ("PW", "a"), ("DB_PWD", "a")),
        *(("GH_PAT", "a"), ("PGPASSWORD", "two words"), ("my_token", "a"), ("API_KEY_2", "a"), ("S3_CREDENTIALS", "a")),
        *(("HEADER", "Bearer xyz"), ("AWS_ACCESS_KEY_ID", "AKIA" + "A1" * 8), ("NOTE", "xoxb-1234567890-a")),
        *(("A", "sk-proj-" + "a1" * 16), ("B", "hf_" + "aB" * 17), ("C", "github_pat_" + "a1" * 20)),
        *(("INDEX", "https://u:p@h.example/"), ("LEFT", "https://***@h.example/"), ("ASKED_TOKEN", "***")),
    ],
)
def test_a_variable_that_holds_a_secret(name: str, value: str) -> None:
    """Its name tells, in any case, or its value does; none of it is shown."""
    assert holds_secret(name, value)
    shown = mask_variable(name, value)
    assert "***" in shown
    assert value == shown or value.rpartition(" ")[2] not in shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("NCCL_DEBUG", "INFO"), ("NCCL_IB_HCA", "mlx5"), ("TOKENIZERS_PARALLELISM", "false"), ("MAX_TOKENS", "4096")),
        *(("SSH_KEY_PATH", "/home/me/.ssh/id"), ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json")),
        *(("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"), ("EOS_TOKEN", "</s>"), ("PWD", "/work"), ("MONKEY", "a")),
        *(("HF_TOKEN", ""), ("SSH_PUBLIC_KEY", "ssh-ed25519 AAAA")),
    ],
)
def test_a_variable_that_holds_none(name: str, value: str) -> None:
    """Paths, switches, marks of a tokenizer and what only sounds alike stay as they are."""
    assert not holds_secret(name, value)
    assert mask_variable(name, value) == value


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
