"""A canary in every place a secret can stand: none may show up anywhere it is not needed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http_channel import serve as serve_channel
from tests.index import artifacts
from tests.index.fixtures import ArgvWatch
from tests.index.server import serve as serve_index
from tests.program import Program

CANARY = "s3cr3t-canary"


@pytest.fixture
def guarded(llmenv: Program, offline_channel: Path, tmp_path: Path) -> Iterator[Program]:
    """The program with a token channel, a password index and a private cache of its own."""
    wheel = artifacts.wheel("tinydist", "1.0")
    with (
        serve_channel(offline_channel, token=CANARY) as channel,
        serve_index([wheel], user="me", password=CANARY) as index,
    ):
        llmenv.environ |= {"CONDA_PKGS_DIRS": str(tmp_path / "pkgs"), "UV_CACHE_DIR": str(tmp_path / "uv")}
        del llmenv.environ["PIP_NO_INDEX"]
        llmenv.write(
            "team.yml",
            f"channels:\n- {channel.url('conda-forge')}\n- nodefaults\ndependencies:\n- python\n- pip\n- six\n- pip:\n"
            f"  - --index-url {index.url_with_credentials}\n  - tinydist==1.0\n",
        )
        yield llmenv


def leaks(*folders: Path) -> list[str]:
    """Return every file below the folders that holds the canary."""
    found = subprocess.run(
        ["grep", "-rlF", CANARY, *map(str, folders)], capture_output=True, text=True, check=False
    ).stdout
    return found.splitlines()


def test_no_secret_is_shown_or_written(guarded: Program, prefix: Path, tmp_path: Path, argv_watch: ArgvWatch) -> None:
    """Fault 39: 0 hits in the prefix, the caches, what is printed and every process's command line."""
    ended = guarded("create", "-f", "team.yml", "-p", prefix, "-v", "--no-verify")
    assert ended.code == 0, ended.text
    assert CANARY not in ended.text
    assert [argv for argv in argv_watch.seen if CANARY in argv] == []
    assert leaks(prefix, tmp_path / "pkgs", tmp_path / "uv", Path(guarded.environ["HOME"])) == []


@pytest.mark.parametrize("line", ["compose", "compose --json", "compose --explain", "create --dry-run --json"])
def test_no_secret_is_printed(guarded: Program, line: str) -> None:
    """Composing, explaining and planning show which address it was, never the secret in it."""
    command, *options = line.split()
    ended = guarded(command, "-f", "team.yml", *options)
    assert ended.code == 0, ended.text
    assert CANARY not in ended.text
    assert "127.0.0.1" in ended.text


def test_no_secret_is_in_a_failure(guarded: Program, prefix: Path) -> None:
    """An error about an address with a secret in it names the address without the secret."""
    guarded.write("wrong.yml", (guarded.cwd / "team.yml").read_text().replace("conda-forge", "no-such-channel"))
    ended = guarded("create", "-f", "wrong.yml", "-p", prefix)
    assert ended.code == 1
    assert CANARY not in ended.text
    assert "no-such-channel" in ended.text


@pytest.mark.parametrize(
    "line",
    [
        "channels: ['https://h.example/t/<TOKEN>/main']",
        "dependencies: [python, pip, pip: ['--index-url https://<TOKEN>@h.example/simple']]",
    ],
)
def test_a_placeholder_is_refused(llmenv: Program, line: str) -> None:
    """conda#10232 and its like: somebody's export left ``<TOKEN>`` behind, and tools then ask for it literally."""
    llmenv.write("exported.yml", f"{line}\n")
    ended = llmenv("compose", "-f", "exported.yml")
    assert ended.code == 2
    assert "exported.yml:1" in ended.stderr
    assert "TOKEN" in ended.stderr
