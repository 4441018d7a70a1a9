"""Channels are fetched as the embedded engine fetches them: the same credentials, the same sentences."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import rattler

from conda_llmenv.engines.libmamba.convert import Candidate
from conda_llmenv.engines.libmamba.engine import LibmambaEngine
from conda_llmenv.engines.libmamba.repodata import fetch, write
from conda_llmenv.engines.options import ClientOptions
from conda_llmenv.errors import ChannelUnavailable
from conda_llmenv.model import Channel, SolveRequest
from conda_llmenv.ports import Engine
from tests.channel.interpreter import subdir
from tests.engines.support import Recorder, channel, engine, solve_request
from tests.http_channel import ChannelServer, Fault


def candidates(*specs: str, channels: tuple[Channel, ...]) -> list[Candidate]:
    """Fetch what specs can reach."""
    request = solve_request(*specs, channels=channels)
    return asyncio.run(fetch(request, [rattler.MatchSpec(text, strict=False) for text in specs], None))


def failures(request: SolveRequest, **options: float) -> list[tuple[str, str, tuple[str, ...], str]]:
    """Return how both engines fail over the same request."""
    both: tuple[Engine, ...] = (
        LibmambaEngine(ClientOptions(max_retries=0, **options)),  # type: ignore[arg-type]  # all are seconds
        engine(**options),
    )
    found = []
    for one in both:
        with pytest.raises(ChannelUnavailable) as caught:
            one.solve(request, Recorder())
        found.append((caught.value.message, caught.value.channel, caught.value.details[:1], caught.value.hint))
    return found


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("repodata*", status=401), "wants credentials"),
        (Fault("repodata*", status=403), "refuses access"),
        (Fault("repodata*", status=404), "does not exist at its address"),
        (Fault("repodata*", status=503), "its server failed"),
        (Fault("repodata.json", cut=300), "broke off while it was read"),
    ],
    ids=["401", "403", "404", "503", "cut"],
)
def test_a_channel_that_cannot_be_had_is_told_as_by_the_embedded_engine(
    fault: Fault, said: str, http_channel: ChannelServer, offline_channel: Path
) -> None:
    """Same sentence, same channel, same next step."""
    http_channel.faults = [fault]
    channels = (channel(offline_channel, "other"), channel(http_channel.url()))
    ours, theirs = failures(solve_request("gate-c", channels=channels))
    assert said in ours[0]
    assert ours == theirs


def test_a_missing_channel_and_a_missing_cache_are_told_as_well(http_channel: ChannelServer, tmp_path: Path) -> None:
    """A plain 404 for every file is no empty channel; offline, nothing is asked for."""
    nowhere = Channel("nowhere", http_channel.url("nowhere"))
    ours, theirs = failures(solve_request("gate-c", channels=(channel(http_channel.url()), nowhere)))
    assert ours == theirs
    assert ours[1] == "nowhere"
    unasked = Channel("unasked", http_channel.url("unasked"))  # of the others, a request may still be on its way
    request = solve_request("gate-c", channels=(unasked,), offline=True, repodata_cache=tmp_path)
    ours, theirs = failures(request)
    assert ours == theirs
    assert not [one for one in http_channel.requests if one.path.startswith("/unasked")]


def test_a_silent_server_is_given_up(http_channel: ChannelServer, tmp_path: Path) -> None:
    """After the configured read timeout, as by the embedded engine."""
    http_channel.faults = [Fault("repodata*", stall=30)]
    request = solve_request("gate-c", channels=(channel(http_channel.url()),), repodata_cache=tmp_path)
    ours, theirs = failures(request, read_timeout=1.0)
    assert ours == theirs


def test_a_mirror_that_forbids_what_it_does_not_have_works(http_channel: ChannelServer) -> None:
    """Object stores answer 403 for a missing file; the shard index is optional, so the plain file is used."""
    http_channel.faults = [Fault("repodata_shards*", status=403)]
    assert {one.name for one in candidates("gate-c", channels=(channel(http_channel.url()),))} == {"gate-c"}


def test_all_of_a_name_comes_and_what_the_fitting_ones_need(offline_channel: Path) -> None:
    """What no spec matches decides which channel is first; what it needs is of no interest."""
    channels = (channel(offline_channel), channel(offline_channel, "other"))
    found = {(one.name, one.file_name.split("-")[-2]) for one in candidates("confused >=9", channels=channels)}
    assert found == {("confused", "1.0"), ("confused", "9.0")}
    assert {"gate-a", "gate-c"} == {one.name for one in candidates("gate-a", channels=channels)}


def test_libmamba_gets_the_entries_of_each_channel_and_platform(offline_channel: Path, tmp_path: Path) -> None:
    """As in the channel's own file, in the section of their format, and every one of them."""
    source = channel(offline_channel)
    found = candidates("pytorch", channels=(source,))
    written = write(found, tmp_path, {source.url: 7})
    assert {(one.name, one.url.removeprefix(f"{source.url}/")) for one in written} == {
        (source.url, subdir()),
        (source.url, "noarch"),
    }
    assert {one.priority for one in written} == {7}
    assert sum(one.size for one in written) == len(found)
    for one in written:
        entries = json.loads(Path(one.file).read_text(encoding="utf-8"))
        original = json.loads(
            (Path(offline_channel, "conda-forge", one.url.split("/")[-1], "repodata.json")).read_text()
        )
        assert len(entries["packages.conda"]) + len(entries["packages"]) == one.size
        for name, entry in entries["packages.conda"].items():
            published = original["packages.conda"][name]
            assert {key: entry[key] for key in ("name", "version", "build", "sha256", "depends")} == {
                key: published[key] for key in ("name", "version", "build", "sha256", "depends")
            }
