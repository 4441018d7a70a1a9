"""What is said of a channel that cannot be read, by the texts that conda, requests and urllib3 give."""

from __future__ import annotations

import pytest

from conda_llmenv.engines.conda.channel_faults import CHANNEL_RULES
from conda_llmenv.engines.unavailable import KINDS, kind_of_fault, unavailable
from conda_llmenv.model import Channel


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("HTTP 401 UNAUTHORIZED for url <https://mirror.example/repodata.json>", "wants credentials"),
        ("HTTP 403 FORBIDDEN for channel conda-forge <https://mirror.example/conda-forge>", "refuses access"),
        ("HTTP 404 NOT FOUND for channel conda-forge <https://mirror.example/conda-forge>", "does not exist"),
        ("HTTP 429 TOO MANY REQUESTS for url <https://mirror.example>", "asks to slow down"),
        ("HTTP 503 SERVICE UNAVAILABLE for url <https://mirror.example>", "its server failed"),
        ("HTTP 000 CONNECTION FAILED\nNewConnectionError: [Errno 111] Connection refused", "nothing answers"),
        ("HTTP 000 CONNECTION FAILED\nOSError: [Errno 101] Network is unreachable", "no way to it from here"),
        ("HTTP 000 CONNECTION FAILED\nNameResolutionError: Name or service not known", "host name is unknown"),
        (
            "HTTP 000 CONNECTION FAILED\nReadTimeoutError: Read timed out. (read timeout=60.0)",
            "does not answer in time",
        ),
        ("Encountered an SSL error. Most likely a certificate verification issue.", "its certificate is not known"),
        ("HTTP 000 CONNECTION FAILED for url <…/repodata.json>\nIncompleteRead(2000 bytes read)", "broke off"),
        ("invalid length 0, expected struct LazyRepoData at line 1 column 2", "repodata that cannot be read"),
        ("JSON is malformed: trailing characters (byte 30)", "repodata that cannot be read"),
        ("HTTP 404 NOT FOUND\nAs of conda 4.3, a valid channel must contain a", "is not there"),
        ("EnforceUnusedAdapter called: a remote connection in offline mode.", "this run is offline"),
        ("Channel included in denylist:", "forbidden by the configuration"),
        (
            "HTTP 000 CONNECTION FAILED for url <https://mirror.example/conda-forge/noarch/repodata.json>",
            "cannot be read",
        ),
    ],
)
def test_each_failure_has_its_sentence(text: str, why: str) -> None:
    """The more specific reason wins over the general one that stands beside it."""
    kind = kind_of_fault(text, CHANNEL_RULES)
    assert kind is not None
    assert why in KINDS[kind].why


def test_what_is_not_about_a_channel_is_not_taken_for_it() -> None:
    """A solver that breaks down for a reason of its own is no unavailable channel."""
    assert kind_of_fault("TypeError: 'NoneType' object is not subscriptable", CHANNEL_RULES) is None


def test_a_missing_label_of_a_mirror_points_to_the_original() -> None:
    """Mirrors carry channels but not their labels; the token of the mirror is not repeated."""
    channel = Channel("x", "https://mirror.example/t/tk-abc/nvidia/label/cuda-12.1.0")
    found = unavailable("address", channel, "HTTP 404 NOT FOUND", ())
    assert found.hint.endswith("https://conda.anaconda.org/nvidia/label/cuda-12.1.0")
    assert "tk-abc" not in "\n".join(found.details)
