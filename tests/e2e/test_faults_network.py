"""Servers and networks that misbehave: the program ends in bounded time, says which channel it was, and heals.

What else covers these faults: 13 and 12 in ``test_faults_downloads``, 16 and 17 for the engine alone in
``tests/engines/test_channel_faults``, 23 in ``test_faults_parallel``, 41 in ``test_channels``.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.http_channel import ChannelServer, Fault
from tests.program import Ended, Program

SECONDS = 2
"""The read timeout of these tests."""


@pytest.fixture
def online(llmenv: Program, http_channel: ChannelServer, tmp_path: Path) -> Program:
    """The program over HTTP, with package caches of its own, little patience, and an environment without Python."""
    llmenv.environ |= {
        "CONDA_CHANNEL_ALIAS": http_channel.host,
        "CONDA_PKGS_DIRS": str(tmp_path / "pkgs"),
        "CONDA_REMOTE_READ_TIMEOUT_SECS": str(SECONDS),
        "CONDA_REMOTE_MAX_RETRIES": "1",
    }
    llmenv.write("bare.yml", "dependencies: [big-blob]\nllmenv: {remove: [python, pip]}\n")
    return llmenv


def failed(ended: Ended, prefix: Path, *told: str) -> None:
    """A failure that says all of that, is no traceback, and leaves no environment."""
    assert ended.code == 1, ended.text
    for text in told:
        assert text in ended.stderr
    assert "Traceback" not in ended.text
    assert not prefix.parent.exists()


SILENCES = {
    "silent before the answer": {"stall": 60},
    "silent in the middle": {"pace": 60, "piece": 400},
    "a byte now and then": {"pace": 0.3, "piece": 1},
}


@pytest.mark.parametrize("kind", SILENCES)
@pytest.mark.parametrize("what", ["repodata*", "big-blob*.conda"])
def test_a_server_that_says_next_to_nothing_is_given_up(
    online: Program, http_channel: ChannelServer, prefix: Path, kind: str, what: str
) -> None:
    """Fault 15, slow-loris: an end after the read timeout, not when the server likes; and it mends."""
    http_channel.faults = [Fault(what, **SILENCES[kind])]  # type: ignore[arg-type]  # by name
    started = time.monotonic()
    ended = online("create", "-f", "bare.yml", "-p", prefix)
    assert time.monotonic() - started < SECONDS * 5 + 10
    failed(ended, prefix, f"next to nothing has come for {SECONDS} s", "hint: ", "remote_read_timeout_secs")
    assert ("conda-forge" if what == "repodata*" else "big-blob") in ended.stderr
    http_channel.faults = []
    assert online("create", "-f", "bare.yml", "-p", prefix).code == 0


def test_a_slow_server_is_waited_for(online: Program, http_channel: ChannelServer, prefix: Path) -> None:
    """Slow is not stalled: what arrives little by little for longer than the timeout is taken."""
    http_channel.faults = [Fault("big-blob*.conda", pace=0.25, piece=262144)]
    started = time.monotonic()
    ended = online("create", "-f", "bare.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert time.monotonic() - started > SECONDS
