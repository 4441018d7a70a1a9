"""Downloads and caches that are not what the channel describes: never linked, never kept, and said with the hashes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tests.channel.stubs import BLOB_BYTES
from tests.http_channel import ChannelServer, Fault
from tests.index import artifacts
from tests.index.server import serve as serve_index
from tests.program import Program

BLOB = "share/big-blob.bin"


@pytest.fixture
def online(llmenv: Program, http_channel: ChannelServer, tmp_path: Path) -> Program:
    """The program over HTTP, with package caches of its own."""
    llmenv.environ |= {"CONDA_CHANNEL_ALIAS": http_channel.host, "CONDA_PKGS_DIRS": str(tmp_path / "pkgs")}
    llmenv.write("blob.yml", "dependencies: [big-blob, six]\n")
    return llmenv


def packages(cache: Path, name: str) -> list[str]:
    """Return what a package cache holds of a package, apart from locks."""
    return [path.name for path in cache.glob(f"{name}*") if path.suffix != ".lock"]


@pytest.mark.parametrize("cut", [0, 13, 20000])
def test_one_broken_answer_does_no_harm(
    online: Program, http_channel: ChannelServer, prefix: Path, tmp_path: Path, cut: int
) -> None:
    """Fault 12: wherever the first answer ends, the second one is used whole."""
    http_channel.faults = [Fault("pip-*.conda", cut=cut, times=1)]
    ended = online("create", "-p", prefix, "six", "-q", "--no-verify")
    assert ended.code == 0, ended.text
    assert len(http_channel.asked_for("pip-*.conda")) == 2
    assert packages(tmp_path / "pkgs", "pip")
    assert len(list(prefix.glob("lib/python3.*/site-packages/pip/__init__.py"))) == 1


@pytest.mark.parametrize("cut", [0, 100_000])
def test_a_download_that_never_ends_well_leaves_nothing(
    online: Program, http_channel: ChannelServer, prefix: Path, tmp_path: Path, cut: int
) -> None:
    """Fault 12: some tries, then one sentence with the package; no environment, nothing in the cache, and it mends."""
    http_channel.faults = [Fault("big-blob*", cut=cut)]
    ended = online("create", "-f", "blob.yml", "-p", prefix)
    assert ended.code == 1
    assert "error: big-blob-1.0-0.conda did not arrive whole" in ended.stderr
    assert "hint: " in ended.stderr
    assert "Traceback" not in ended.text
    assert not prefix.parent.exists()
    assert packages(tmp_path / "pkgs", "big-blob") == []
    http_channel.faults = []
    assert online("create", "-f", "blob.yml", "-p", prefix).code == 0
    assert (prefix / BLOB).stat().st_size == BLOB_BYTES


def test_wrong_content_of_the_right_size_shows_both_hashes(
    online: Program, http_channel: ChannelServer, prefix: Path, tmp_path: Path, offline_channel: Path
) -> None:
    """Fault 14: expected and found hash are printed, the address is named, and nothing of it is kept or linked."""
    http_channel.faults = [Fault("big-blob*", flip=True)]
    ended = online("create", "-f", "blob.yml", "-p", prefix)
    content = next(offline_channel.glob("conda-forge/*/big-blob-1.0-0.conda")).read_bytes()
    middle = len(content) // 2
    damaged = content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
    assert ended.code == 1
    for told in (hashlib.sha256(content).hexdigest(), hashlib.sha256(damaged).hexdigest(), "big-blob-1.0-0.conda"):
        assert told in ended.stderr
    assert not prefix.parent.exists()
    assert packages(tmp_path / "pkgs", "big-blob") == []


def test_wrong_content_of_a_wheel_shows_both_hashes(llmenv: Program, prefix: Path) -> None:
    """Fault 14, in the pip section: the index states another hash than the file has; the environment is gone again."""
    wheel = artifacts.wheel("tinydist", "1.0")
    with serve_index([wheel]) as index:
        index.wrong_hashes = {"tinydist"}
        llmenv.write("team.yml", f"dependencies:\n- python\n- pip\n- pip:\n  - --index-url {index.url}\n  - tinydist\n")
        del llmenv.environ["PIP_NO_INDEX"]
        ended = llmenv("create", "-f", "team.yml", "-p", prefix)
    assert ended.code == 1
    assert "tinydist" in ended.stderr
    assert "0" * 64 in ended.stderr
    assert wheel.sha256 in ended.stderr
    assert not prefix.parent.exists()


def test_a_flipped_byte_in_the_cache_is_repaired(
    online: Program, http_channel: ChannelServer, prefix: Path, tmp_path: Path
) -> None:
    """Fault 18: same size, same time of change; the next environment is made of the right bytes all the same."""
    assert online("create", "-f", "blob.yml", "-p", prefix).code == 0
    right = (prefix / BLOB).read_bytes()
    cached = tmp_path / "pkgs" / "big-blob-1.0-0" / BLOB
    before = cached.stat()
    content = bytearray(right)
    content[BLOB_BYTES // 2] ^= 0xFF
    cached.unlink()  # the first environment shares the inode
    cached.write_bytes(content)
    os.utime(cached, ns=(before.st_atime_ns, before.st_mtime_ns))
    ended = online("create", "-f", "blob.yml", "-p", prefix.with_name("second"))
    assert ended.code == 0, ended.text
    assert (prefix.with_name("second") / BLOB).read_bytes() == right
    assert cached.read_bytes() == right
    assert len(http_channel.asked_for("big-blob*")) == 2
    http_channel.faults = [Fault("*.conda", status=404)]
    cached.write_bytes(content)
    refused = online("create", "-f", "blob.yml", "-p", prefix.with_name("third"))
    assert refused.code == 1
    assert "big-blob" in refused.stderr
    assert not prefix.with_name("third").exists()
