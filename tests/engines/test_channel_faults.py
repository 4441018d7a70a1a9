"""A channel that cannot be had: which one, where it was looked for, why, and what to do."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from conda_llmenv.errors import ChannelUnavailable, LlmenvError
from conda_llmenv.model import Channel
from tests.engines.support import channel, named, solve
from tests.http_channel import ChannelServer, Fault

CLOSED = "http://127.0.0.1:9"
"""The discard port: nothing answers there."""


def failure(where: Channel, *more: Channel, offline: bool = False, cache: Path | None = None) -> ChannelUnavailable:
    """Solve over a channel that must fail and return the error."""
    with pytest.raises(ChannelUnavailable) as caught:
        solve("gate-c", channels=(*more, where), offline=offline, repodata_cache=cache)
    return caught.value


def test_a_closed_port_names_channel_and_address(offline_channel: Path) -> None:
    """headnerf#22: the mirror is gone; name as written, resolved address, reason, and a next step."""
    error = failure(Channel("conda-forge", f"{CLOSED}/mirror/conda-forge"), channel(offline_channel, "other"))
    assert error.message == "channel conda-forge cannot be reached: nothing answers at its address"
    assert (error.channel, error.details[0]) == ("conda-forge", f"address  {CLOSED}/mirror/conda-forge")
    assert "--offline" in error.hint


def test_the_channel_that_fails_is_the_one_named(offline_channel: Path, http_channel: ChannelServer) -> None:
    """acezero#28: of several channels the missing one is named, though its name begins like another's."""
    good, bad = channel(http_channel.url()), Channel("conda-forge-extra", http_channel.url("conda-forge-extra"))
    assert failure(bad, good, channel(offline_channel, "other")).channel == "conda-forge-extra"


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (401, "wants credentials", "rattler auth login"),
        (403, "refuses access", "token"),
        (404, "does not exist at its address", "channel_alias"),
        (429, "asks to slow down", "wait"),
        (500, "its server failed", "later"),
        (503, "its server failed", "later"),
    ],
)
def test_each_status_has_its_own_sentence(http_channel: ChannelServer, status: int, said: str, hint: str) -> None:
    """conda#9965 (403) and friends: forbidden, absent and broken are different problems with different ways out."""
    http_channel.faults = [Fault("repodata*", status=status)]
    error = failure(channel(http_channel.url()))
    assert said in error.message
    assert hint in error.hint
    assert error.exit_code == 1


def test_credentials_are_not_asked_for_again(http_channel: ChannelServer) -> None:
    """401 and 403 are answers: no file is asked for more than once."""
    http_channel.faults = [Fault("repodata*", status=401)]
    failure(channel(http_channel.url()))
    paths = [(request.method, request.path) for request in http_channel.requests]
    assert len(paths) == len(set(paths))


def test_a_mirror_that_forbids_what_it_does_not_have_works(http_channel: ChannelServer) -> None:
    """Object stores answer 403 for a missing file; the shard index is optional, so the plain file is used."""
    http_channel.faults = [Fault("repodata_shards*", status=403)]
    assert named(solve("gate-c", channels=(channel(http_channel.url()),))) == {"gate-c": "2.0"}


@pytest.mark.parametrize("kind", ["http", "file"])
def test_a_label_on_a_mirror_gets_its_own_hint(kind: str, http_channel: ChannelServer, tmp_path: Path) -> None:
    """tuna/issues#2219: labels cannot be mirrored; the original address is offered."""
    name = "nvidia/label/cuda-12.1.0"
    url = http_channel.url(f"anaconda/cloud/{name}") if kind == "http" else (tmp_path / "cloud" / name).as_uri()
    error = failure(Channel(name, url))
    assert error.channel == name
    assert f"https://conda.anaconda.org/{name}" in error.hint


def test_a_folder_that_is_no_channel_is_said_so(tmp_path: Path) -> None:
    """A path with a typing mistake."""
    error = failure(Channel("mine", (tmp_path / "nowhere").as_uri()))
    assert error.message == "channel mine is not there: no repodata.json in its folders"
    assert error.details[0] == f"address  {(tmp_path / 'nowhere').as_uri()}"


@pytest.mark.parametrize("content", [b"", b'{"packages": {', b"\0\1\2binary", b"[]"])
def test_damaged_repodata_on_disk_is_said_so(offline_channel: Path, tmp_path: Path, content: bytes) -> None:
    """Row 20: repodata cut short, empty or of another kind is an explained failure, not an empty channel."""
    channels = Path(shutil.copytree(offline_channel, tmp_path / "channels"))
    for path in (channels / "conda-forge").glob("*/repodata.json"):
        path.write_bytes(content)
    error = failure(channel(channels))
    assert error.message == "channel conda-forge has repodata that cannot be read"
    assert "index it again" in error.hint


def test_repodata_cut_short_on_the_way_is_said_so(http_channel: ChannelServer) -> None:
    """The connection ends in the middle of repodata.json."""
    http_channel.faults = [Fault("repodata.json", cut=300)]
    assert "broke off while it was read" in failure(channel(http_channel.url())).message


@pytest.mark.parametrize("content", [b"", b'{"packages": {', b"\0" * 5000])
def test_a_damaged_repodata_cache_is_fetched_again(http_channel: ChannelServer, tmp_path: Path, content: bytes) -> None:
    """Row 20: what the cache holds is checked; a person need not know where it is."""
    where = channel(http_channel.url())
    solve("gate-c", channels=(where,), repodata_cache=tmp_path)
    for path in tmp_path.glob("*.json"):
        path.write_bytes(content)
    assert named(solve("gate-c", channels=(where,), repodata_cache=tmp_path)) == {"gate-c": "2.0"}
    for path in tmp_path.glob("*.json"):
        path.write_bytes(content)
    assert "this run is offline" in failure(where, offline=True, cache=tmp_path).message


def test_offline_without_a_cache_says_what_is_missing(tmp_path: Path) -> None:
    """Row 16: offline and never fetched; no connection is tried."""
    started = time.monotonic()
    error = failure(Channel("conda-forge", f"{CLOSED}/conda-forge"), offline=True, cache=tmp_path)
    assert error.message == "channel conda-forge is not in the repodata cache, and this run is offline"
    assert time.monotonic() - started < 2


def test_an_unwritable_repodata_cache_is_told_apart(http_channel: ChannelServer, tmp_path: Path) -> None:
    """The channel is fine; the cache folder is a file."""
    (tmp_path / "cache").write_text("")
    with pytest.raises(LlmenvError) as caught:
        solve("gate-c", channels=(channel(http_channel.url()),), repodata_cache=tmp_path / "cache")
    assert str(tmp_path / "cache") in caught.value.message + "".join(caught.value.details)
