"""Nothing is linked that is not what the channel's repodata describes; what is damaged is fetched again or refused."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from conda_llmenv.engines.package_cache import PackageCache, is_sound
from conda_llmenv.errors import InstallFailed, NoSpace
from conda_llmenv.model import Solution
from tests.channel.stubs import BLOB_BYTES
from tests.engines.support import channel, chosen, install, solve
from tests.http_channel import ChannelServer, Fault

BLOB = "share/big-blob.bin"


def flip(path: Path, *, keep_time: bool = True) -> None:
    """Change one byte; size and, unless said otherwise, the time of change stay."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.chmod(0o644)
    path.write_bytes(content)
    if keep_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def blob(server: ChannelServer) -> Solution:
    """Return the solution that consists of the big package, from the server."""
    return solve("big-blob", channels=(channel(server.url()),))


def contents(cache: Path) -> set[str]:
    """Return what is in a package cache under a name somebody would use."""
    return {path.name for path in cache.iterdir() if path.is_dir()}


def copied_channel(offline_channel: Path, tmp_path: Path) -> Path:
    """Return a copy of the channels that a test may damage."""
    return Path(shutil.copytree(offline_channel, tmp_path / "channels"))


@pytest.mark.parametrize("cut", [0, 1, 13, 50, 74, 150, 8096, 16384, 20000])
def test_a_download_cut_short_is_tried_again(http_channel: ChannelServer, tmp_path: Path, cut: int) -> None:
    """Row 12 (rattler's own cut points): after one truncated answer the second one is used whole."""
    http_channel.faults = [Fault("big-blob*", cut=cut, times=1)]
    install(blob(http_channel), tmp_path / "env", tmp_path / "pkgs")
    assert (tmp_path / "env" / BLOB).stat().st_size == BLOB_BYTES
    assert len(http_channel.asked_for("big-blob*")) >= 2


@pytest.mark.parametrize("cut", [0, 100_000])
def test_a_download_always_cut_short_fails_and_leaves_nothing(
    http_channel: ChannelServer, tmp_path: Path, cut: int
) -> None:
    """Row 12: after some tries it is given up, the package is named, and its name is free in the cache."""
    http_channel.faults = [Fault("big-blob*", cut=cut)]
    with pytest.raises(InstallFailed, match=r"big-blob-1.0-0.conda did not arrive whole") as caught:
        install(blob(http_channel), tmp_path / "env", tmp_path / "pkgs")
    assert "run the same command again" in caught.value.hint
    assert contents(tmp_path / "pkgs") == set()


def test_wrong_content_of_the_right_size_shows_both_hashes(http_channel: ChannelServer, tmp_path: Path) -> None:
    """Row 14 (apt hashsum-mismatch): expected and actual hash are shown, and nothing is kept."""
    http_channel.faults = [Fault("big-blob*", flip=True)]
    solution = blob(http_channel)
    with pytest.raises(InstallFailed, match="its sha256 differs") as caught:
        install(solution, tmp_path / "env", tmp_path / "pkgs")
    text = "\n".join(caught.value.details)
    assert f"expected  {chosen(solution, 'big-blob').sha256}" in text
    assert "found     " in text
    assert contents(tmp_path / "pkgs") == set()
    assert not (tmp_path / "env" / BLOB).exists()


@pytest.mark.parametrize("transport", ["file", "http"])
def test_another_valid_package_under_the_name_is_refused(
    transport: str, offline_channel: Path, http_channel: ChannelServer, tmp_path: Path
) -> None:
    """A whole, readable package that is not the one repodata describes: the library does not look, on `file://`."""
    channels = copied_channel(offline_channel, tmp_path)
    http_channel.root = channels
    where = channel(channels) if transport == "file" else channel(http_channel.url())
    solution = solve("gate-c", channels=(where,))
    record = chosen(solution, "gate-c")
    target = channels / "conda-forge" / record.subdir / record.file_name
    target.unlink()
    shutil.copy(target.with_name("gate-c-1.0-0.conda"), target)
    with pytest.raises(InstallFailed, match=r"gate-c-2.0-0.conda is not the file its channel describes") as caught:
        install(solution, tmp_path / "env", tmp_path / "pkgs")
    assert f"expected  {record.sha256}" in caught.value.details
    assert contents(tmp_path / "pkgs") == set()


def test_a_local_archive_that_is_gone_is_named(offline_channel: Path, tmp_path: Path) -> None:
    """A channel on disk that lists a file it does not hold."""
    channels = copied_channel(offline_channel, tmp_path)
    solution = solve("gate-c", channels=(channel(channels),))
    (channels / "conda-forge" / chosen(solution, "gate-c").subdir / "gate-c-2.0-0.conda").unlink()
    with pytest.raises(InstallFailed, match=r"gate-c-2.0-0.conda is listed by its channel but is not there"):
        install(solution, tmp_path / "env", tmp_path / "pkgs")


@pytest.mark.parametrize("transport", ["file", "http"])
def test_a_flipped_byte_in_the_cache_is_found(
    transport: str, offline_channel: Path, http_channel: ChannelServer, tmp_path: Path
) -> None:
    """Row 18 (mamba extracted_file_corrupted): same size and same time of change, and still not linked."""
    where = channel(offline_channel) if transport == "file" else channel(http_channel.url())
    solution = solve("big-blob", channels=(where,))
    install(solution, tmp_path / "one", tmp_path / "pkgs")
    good = (tmp_path / "one" / BLOB).read_bytes()
    flip(tmp_path / "pkgs/big-blob-1.0-0" / BLOB)
    install(solution, tmp_path / "two", tmp_path / "pkgs")
    assert (tmp_path / "two" / BLOB).read_bytes() == good
    assert is_sound(tmp_path / "pkgs/big-blob-1.0-0")


@pytest.mark.parametrize("part", [BLOB, "info/index.json", "info/paths.json"])
@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_part_missing_in_the_cache_is_fetched_again(
    http_channel: ChannelServer, tmp_path: Path, part: str, how: str
) -> None:
    """Row 19 (mamba test_pkg_cache): payload or metadata gone or emptied."""
    solution = blob(http_channel)
    install(solution, tmp_path / "one", tmp_path / "pkgs")
    path = tmp_path / "pkgs/big-blob-1.0-0" / part
    path.unlink()
    if how == "empty":
        path.touch()
    install(solution, tmp_path / "two", tmp_path / "pkgs")
    assert (tmp_path / "two" / BLOB).stat().st_size == BLOB_BYTES


def test_damage_in_the_cache_is_not_hidden_by_being_offline(http_channel: ChannelServer, tmp_path: Path) -> None:
    """Offline, a damaged package is as good as none: the file that is missing is named, nothing is linked."""
    solution = blob(http_channel)
    install(solution, tmp_path / "one", tmp_path / "pkgs")
    flip(tmp_path / "pkgs/big-blob-1.0-0" / BLOB)
    http_channel.requests.clear()
    with pytest.raises(InstallFailed, match="offline, and 1 packages are not in the package cache") as caught:
        install(solution, tmp_path / "two", tmp_path / "pkgs", offline=True)
    assert caught.value.details == ("big-blob-1.0-0.conda",)
    assert (http_channel.requests, (tmp_path / "two").exists()) == ([], False)


def test_a_damaged_cache_is_not_repaired_from_a_damaged_channel(offline_channel: Path, tmp_path: Path) -> None:
    """The cached package is broken and the archive on disk was replaced since: refused, and not kept."""
    channels = copied_channel(offline_channel, tmp_path)
    solution = solve("gate-c", channels=(channel(channels),))
    install(solution, tmp_path / "one", tmp_path / "pkgs")
    flip(tmp_path / "pkgs/gate-c-2.0-0/share/gate-c/about.txt")
    archive = channels / "conda-forge" / chosen(solution, "gate-c").subdir / "gate-c-2.0-0.conda"
    archive.unlink()
    shutil.copy(archive.with_name("gate-c-1.0-0.conda"), archive)
    with pytest.raises(InstallFailed, match="is not the file its channel describes"):
        install(solution, tmp_path / "two", tmp_path / "pkgs")
    assert "gate-c-2.0-0" not in contents(tmp_path / "pkgs")


def test_a_failed_fetch_does_not_bless_an_older_package_of_the_name(
    offline_channel: Path, http_channel: ChannelServer, tmp_path: Path
) -> None:
    """The library notes the new hash before it fetches; the old content under that name must not pass for it."""
    solution = solve("gate-c", channels=(channel(http_channel.url()),))
    install(solution, tmp_path / "one", tmp_path / "pkgs")
    rebuilt = replace(chosen(solution, "gate-c"), sha256="ab" * 32)
    newer = replace(solution, records=(rebuilt,))
    http_channel.faults = [Fault("gate-c*", status=404)]
    for attempt in ("two", "three"):
        with pytest.raises(InstallFailed, match="cannot be downloaded"):
            install(newer, tmp_path / attempt, tmp_path / "pkgs")


def test_a_record_without_any_hash_is_refused(offline_channel: Path, tmp_path: Path) -> None:
    """What cannot be verified is not installed; the message names it and its channel."""
    solution = solve("gate-c", channels=(channel(offline_channel),))
    bare = replace(chosen(solution, "gate-c"), sha256=None, md5=None)
    with pytest.raises(InstallFailed, match="1 packages have no hash") as caught:
        install(replace(solution, records=(bare,)), tmp_path / "env", tmp_path / "pkgs")
    assert "gate-c-2.0-0.conda" in caught.value.details[0]
    assert not (tmp_path / "env").exists()


def test_a_record_with_only_an_md5_is_taken_with_a_warning(http_channel: ChannelServer, tmp_path: Path) -> None:
    """Old labels know no SHA-256: damage is still found, and the person is told what MD5 does not show."""
    solution = blob(http_channel)
    old = replace(solution, records=(replace(chosen(solution, "big-blob"), sha256=None),))
    recorder = install(old, tmp_path / "env", tmp_path / "pkgs")
    assert [notice.code for notice in recorder.notices] == ["weak-hash"]
    wrong = replace(old, records=(replace(old.records[0], md5="ab" * 16),))
    shutil.rmtree(tmp_path / "pkgs")
    with pytest.raises(InstallFailed, match=r"big-blob-1.0-0.conda is not the file"):
        install(wrong, tmp_path / "two", tmp_path / "pkgs")


def test_a_wrong_md5_is_noticed_although_the_package_is_in_the_cache(
    http_channel: ChannelServer, tmp_path: Path
) -> None:
    """What is known by its md5 alone is compared with it: in the cache as when fetched, whoever fetched it."""
    solution = blob(http_channel)
    install(solution, tmp_path / "one", tmp_path / "pkgs")
    old = replace(solution, records=(replace(chosen(solution, "big-blob"), sha256=None),))
    wrong = replace(old, records=(replace(old.records[0], md5="ab" * 16),))
    for attempt in ("two", "three"):
        with pytest.raises(InstallFailed, match=r"big-blob-1.0-0.conda is not the file"):
            install(wrong, tmp_path / attempt, tmp_path / "pkgs")
        install(old, tmp_path / f"right-{attempt}", tmp_path / "pkgs")


def test_a_package_with_the_right_md5_is_fetched_once(http_channel: ChannelServer, tmp_path: Path) -> None:
    """An old list with nothing but md5 can be used again from the cache, without a network."""
    solution = blob(http_channel)
    old = replace(solution, records=(replace(chosen(solution, "big-blob"), sha256=None),))
    install(old, tmp_path / "one", tmp_path / "pkgs")
    fetched = len(http_channel.asked_for("big-blob*"))
    install(old, tmp_path / "two", tmp_path / "pkgs")
    assert len(http_channel.asked_for("big-blob*")) == fetched


def test_leftovers_of_a_killed_fetch_are_cleared(offline_channel: Path, tmp_path: Path) -> None:
    """A kill in the middle of extraction leaves a nameless folder; the next run removes it."""
    left = tmp_path / "pkgs/.gate-c-2.0-0aB3xYz"
    (left / "share").mkdir(parents=True)
    install(solve("gate-c", channels=(channel(offline_channel),)), tmp_path / "env", tmp_path / "pkgs")
    assert not left.exists()


def test_what_cannot_fit_is_refused_before_the_first_byte(http_channel: ChannelServer, tmp_path: Path) -> None:
    """Archives bigger than the disk: said at once, with both figures."""
    solution = blob(http_channel)
    huge = replace(solution, records=(replace(chosen(solution, "big-blob"), size=10**18),))
    http_channel.requests.clear()
    with pytest.raises(NoSpace, match=r"needs 1000000000000 MB or more, and \d+ MB are free"):
        install(huge, tmp_path / "env", tmp_path / "pkgs")
    assert http_channel.requests == []


def test_a_damaged_record_in_the_prefix_is_named(offline_channel: Path, tmp_path: Path) -> None:
    """Row 20 (conda test_prefix_data): a truncated `conda-meta` file, and what to do about it."""
    solution = solve("gate-c", channels=(channel(offline_channel),))
    install(solution, tmp_path / "env", tmp_path / "pkgs")
    bad = tmp_path / "env/conda-meta/gate-c-2.0-0.json"
    bad.write_text(bad.read_text()[:100])
    with pytest.raises(InstallFailed, match="holds records that cannot be read") as caught:
        install(solve("gate-a", channels=(channel(offline_channel),)), tmp_path / "env", tmp_path / "pkgs")
    assert caught.value.details == (str(bad),)
    assert "anew" in caught.value.hint


def test_another_process_at_the_cache_is_waited_for_and_said(offline_channel: Path, tmp_path: Path) -> None:
    """The cache is locked: after a second the person learns why nothing happens."""
    holder = PackageCache(tmp_path / "pkgs")
    solution = solve("gate-c", channels=(channel(offline_channel),))
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with holder.locked(lambda: None):
            held.set()
            release.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    threading.Timer(1.5, release.set).start()
    recorder = install(solution, tmp_path / "env", tmp_path / "pkgs")
    thread.join()
    assert [text for (text,) in recorder.of("line", "link")] == [
        f"waiting for another process that uses the package cache {tmp_path / 'pkgs'}"
    ]
    assert (tmp_path / "env/share/gate-c/about.txt").is_file()
