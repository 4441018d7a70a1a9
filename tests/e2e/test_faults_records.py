"""Broken files of an environment: one sentence with the path, never a traceback, and a way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.http_channel import ChannelServer
from tests.program import Ended, Program

BROKEN = {
    "empty": b"",
    "half": b'{"name": "si',
    "binary": b"\0\1\2\xff",
    "a list": b"[]",
    "of the future": b'{"version": 99, "schema": 99}',
}


@pytest.fixture
def made(llmenv: Program, prefix: Path) -> Program:
    """The program, with an environment at the prefix."""
    assert llmenv("create", "-p", prefix, "-q", "--no-verify", "confused").code == 0
    return llmenv


def told(ended: Ended, path: Path) -> None:
    """A failure that names the file and what to do."""
    assert ended.code == 1, ended.text
    assert str(path) in ended.stderr
    assert "hint: " in ended.stderr
    assert "Traceback" not in ended.text


def test_a_broken_record_is_named_and_made_again(made: Program, prefix: Path) -> None:
    """Fault 20: ``conda-meta/*.json`` cut short; info and list say which, and creating again mends it."""
    record = next((prefix / "conda-meta").glob("confused-*.json"))
    for content in BROKEN.values():
        record.write_bytes(content)
        told(made("info", "-p", prefix), record)
    told(made("list", "-p", prefix), record)
    assert made("create", "-p", prefix, "-y", "-q", "--no-verify", "confused").code == 0
    assert "confused" in {row["name"] for row in made("list", "-p", prefix, "--json").result()}


@pytest.mark.parametrize("file", ["llmenv/state.json", "llmenv/spec.json", "state"])
def test_a_broken_file_of_ours_is_named(made: Program, prefix: Path, file: str) -> None:
    """Fault 21: empty, half, binary or of a future version: refused with its path.

    conda's own ``state`` carries no format of ours; what we do not know in it is left alone.
    """
    path = prefix / "conda-meta" / file
    for kind, content in BROKEN.items():
        path.write_bytes(content)
        if (file, kind) != ("state", "of the future"):
            told(made("info", "-p", prefix), path)


def test_one_broken_environment_does_not_hide_the_others(made: Program, prefix: Path) -> None:
    """Faults 20 and 21: the list of environments names the broken one and shows the rest."""
    assert made("create", "-p", prefix.with_name("other"), "-q", "--no-verify", "confused").code == 0
    (prefix / "conda-meta" / "llmenv" / "state.json").write_bytes(b'{"pha')
    next((prefix / "conda-meta").glob("confused-*.json")).write_bytes(b"")
    ended = made("list")
    assert ended.code == 0, ended.text
    assert str(prefix) in ended.stdout
    assert str(prefix.with_name("other")) in ended.stdout


def test_an_unreadable_history_does_no_harm(made: Program, prefix: Path) -> None:
    """Fault 20: conda's history is for people; binary junk in it stops neither info nor removal."""
    (prefix / "conda-meta" / "history").write_bytes(b"\0\xff==> no date <==\n+\n")
    assert made("info", "-p", prefix).code == 0
    assert made("remove", "-p", prefix, "-y").code == 0
    assert not prefix.exists()


def test_a_broken_journal_is_never_guessed_about(made: Program, prefix: Path) -> None:
    """Fault 21: what lies beside the prefix and cannot be read stays; its path is told, nothing is touched."""
    journal = prefix.parent / f".{prefix.name}.llmenv" / "journal.json"
    journal.parent.mkdir()
    before = sorted(prefix.rglob("*"))
    for content in BROKEN.values():
        journal.write_bytes(content)
        told(made("create", "-p", prefix, "-y", "confused"), journal)
        assert journal.read_bytes() == content
    told(made("remove", "-p", prefix, "-y"), journal)
    assert sorted(prefix.rglob("*")) == before


@pytest.mark.parametrize("kind", ["half", "binary"])
def test_broken_repodata_caches_are_fetched_again(
    llmenv: Program, prefix: Path, tmp_path: Path, kind: str, http_channel: ChannelServer
) -> None:
    """Fault 20: nobody has to know where repodata is cached to get out of a damaged cache."""
    llmenv.environ |= {"CONDA_PKGS_DIRS": str(tmp_path / "pkgs"), "CONDA_CHANNEL_ALIAS": http_channel.host}
    assert llmenv("create", "--dry-run", "confused").code == 0
    cached = [path for path in (tmp_path / "pkgs" / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert cached
    for path in cached:
        path.write_bytes(BROKEN[kind])
    assert llmenv("create", "-p", prefix, "-q", "confused").code == 0
