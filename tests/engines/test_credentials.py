"""A channel behind a token or a login works, and the secret is nowhere afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.errors import ChannelUnavailable, InstallFailed, LlmenvError
from conda_llmenv.model import Channel
from tests.engines.support import channel, chosen, install, solve
from tests.http_channel import Fault, serve

CANARY = "s3cr3t-canary"
KINDS = {
    "token": {"token": f"tk-{CANARY}"},
    "login": {"login": f"user:{CANARY}"},
    "both": {"token": f"tk-{CANARY}", "login": f"user:{CANARY}"},
}


def holding(folder: Path) -> list[Path]:
    """Return the files under a folder that hold the canary."""
    return [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def everything_said(error: LlmenvError) -> str:
    """Return all a person could see of an error, in a traceback too."""
    said = [error.message, *error.details, error.hint, getattr(error, "channel", "")]
    return "\n".join([*said, str(error.__cause__)])


@pytest.mark.parametrize("kind", KINDS)
def test_a_private_channel_works_and_leaves_no_secret(kind: str, offline_channel: Path, tmp_path: Path) -> None:
    """Row 39: solve, download, link; then 0 hits in prefix, package cache and repodata cache."""
    with serve(offline_channel, **KINDS[kind]) as server:
        where = (channel(server.url()), Channel("other", server.url("other")))
        solution = solve("gate-a", "only-other", channels=where, repodata_cache=tmp_path / "repodata")
        assert CANARY in chosen(solution, "gate-a").url, "a record keeps what it takes to fetch it"
        install(solution, tmp_path / "env", tmp_path / "pkgs", requested=(f"{server.url()}::gate-a",))
    assert (tmp_path / "env/share/gate-a/about.txt").is_file()
    assert (tmp_path / "env/conda-meta/gate-a-1.0-0.json").is_file()
    assert holding(tmp_path) == []


def test_a_public_channel_beside_gets_no_credentials(offline_channel: Path, tmp_path: Path) -> None:
    """The token of one channel is not sent to another server."""
    with serve(offline_channel, token=f"tk-{CANARY}") as private, serve(offline_channel) as public:
        solve("only-other", channels=(channel(private.url()), Channel("other", public.url("other"))))
        assert not [request for request in public.requests if CANARY in f"{request.path}{request.authorization}"]
        assert public.requests


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["404", "500", "rejected"])
def test_no_error_shows_a_secret(kind: str, fault: str, offline_channel: Path, tmp_path: Path) -> None:
    """Whatever fails about a private channel, the message has its address without the secret."""
    with serve(offline_channel, **KINDS[kind]) as server:
        solution = solve("gate-c", channels=(channel(server.url()),))
        url = server.url().replace(CANARY, f"old-{CANARY}") if fault == "rejected" else server.url()
        server.faults = [] if fault == "rejected" else [Fault("*", status=int(fault))]
        with pytest.raises(ChannelUnavailable) as caught:
            solve("gate-c", channels=(Channel(url, url),))
        assert CANARY not in everything_said(caught.value)
        assert "***" in caught.value.message
        server.faults = server.faults or [Fault("*.conda", status=403)]
        with pytest.raises(InstallFailed, match=r"gate-c-2.0-0.conda cannot be downloaded") as failed:
            install(solution, tmp_path / "env", tmp_path / "pkgs")
        assert CANARY not in everything_said(failed.value)
