"""What a killed run left is told, shown and put right, whichever command comes next."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.program import Program


@pytest.fixture
def killed(llmenv: Program, prefix: Path) -> Path:
    """A prefix whose replacement was killed after the old environment had moved aside."""
    assert llmenv("create", "-p", prefix, "six").code == 0
    work = prefix.with_name(f".{prefix.name}.llmenv")
    work.mkdir()
    entry: dict[str, Any] = {
        "version": 1,
        "kind": "replace",
        "token": "0" * 16,
        "owner": json.loads((prefix / "conda-meta" / "llmenv" / "state.json").read_text()).get("owner")
        or {"host": os.uname().nodename, "pid": 2**22 - 1, "started": 1, "boot_id": _boot()},
        "folder_existed": False,
        "made_parents": [],
    }
    (work / "journal.json").write_text(json.dumps(entry))
    prefix.rename(work / "old")
    shutil.copytree(work / "old" / "conda-meta", prefix / "conda-meta", ignore=shutil.ignore_patterns("history"))
    state = json.loads((prefix / "conda-meta" / "llmenv" / "state.json").read_text())
    state |= {"phase": "creating", "owner": entry["owner"], "facts": {**state["facts"], "transaction": "0" * 16}}
    (prefix / "conda-meta" / "llmenv" / "state.json").write_text(json.dumps(state))
    return prefix


def _boot() -> str:
    from conda_llmenv.prefix import owner

    return owner.current().boot_id


def test_an_interrupted_environment_says_so(llmenv: Program, killed: Path) -> None:
    """``info`` names the phase and the way out, instead of an empty reason."""
    info = llmenv("info", "-p", killed, "--json").result()
    assert info["phase"] == "creating"
    assert "interrupted" in info["reason"]


def test_an_interrupted_environment_is_not_intact(llmenv: Program, killed: Path) -> None:
    """``verify`` says why first, on one line, in JSON too; ``export`` and ``diff`` do not take it for a whole one."""
    shown = llmenv("verify", "-p", killed, "--integrity")
    assert shown.code == 1
    assert shown.stdout.startswith("unfinished: ")
    assert "interrupted" in shown.stdout.splitlines()[0]
    found = json.loads(llmenv("verify", "-p", killed, "--integrity", "--json").stdout)
    assert found["ok"] is False
    assert found["result"]["integrity"]["intact"] is False
    assert "unfinished" in {one["problem"] for one in found["result"]["integrity"]["findings"]}
    for asked in ([], ["--asked"]):
        refused = llmenv("export", "-p", killed, *asked)
        assert (refused.code, refused.stdout) == (1, "")
        assert "is not finished and cannot be exported" in refused.stderr
    (killed / "conda-meta" / "llmenv" / "spec.json").unlink()
    compared = llmenv("diff", killed)
    assert compared.code == 2
    assert "is not finished" in compared.stderr
    assert "did not make" not in compared.stderr
    assert "is not finished" in llmenv("diff", killed, killed).stderr


def test_the_next_create_brings_the_old_one_back_first(llmenv: Program, killed: Path) -> None:
    """Even one that then has no solution: the environment that worked is there again."""
    ended = llmenv("create", "-p", killed, "-y", "no-such-package")
    assert ended.code == 1
    assert "is back" in ended.stderr
    assert "six" in {row["name"] for row in llmenv("list", "-p", killed, "--json").result()}
    assert not killed.with_name(f".{killed.name}.llmenv").exists()


def test_remove_says_what_goes(llmenv: Program, killed: Path) -> None:
    """Removing takes the environment that had been moved aside along, and says so."""
    ended = llmenv("remove", "-p", killed, "-y")
    assert ended.code == 0
    assert "moved aside" in ended.stderr
    assert not killed.exists()
    assert not killed.with_name(f".{killed.name}.llmenv").exists()


def test_list_shows_it(llmenv: Program, killed: Path) -> None:
    """An environment that a killed run took away is not simply missing from the list."""
    rows = llmenv("list", "--json", CONDA_ENVS_DIRS=str(killed.parent)).result()
    assert [row["phase"] for row in rows if row["prefix"] == str(killed)] == ["interrupted"]


def test_inner_environments_are_not_destroyed(llmenv: Program, prefix: Path) -> None:
    """An environment inside another would go with it unasked."""
    assert llmenv("create", "-p", prefix, "six").code == 0
    inside = llmenv("create", "-p", prefix / "envs" / "inner", "six")
    assert inside.code == 2
    assert "lies inside the environment" in inside.stderr
    outer = prefix.parent
    (outer / "conda-meta").mkdir()
    (outer / "conda-meta" / "history").write_text("")
    for arguments in (("remove", "-y"), ("create", "-y", "six")):
        refused = llmenv(arguments[0], "-p", outer, *arguments[1:])
        assert refused.code == 2
        assert str(prefix) in refused.stderr
    assert (prefix / "conda-meta" / "history").is_file()


def test_remove_needs_a_yes_in_json_too(llmenv: Program, prefix: Path) -> None:
    """A machine that asks for JSON has not said yes."""
    assert llmenv("create", "-p", prefix, "six").code == 0
    refused = llmenv("remove", "-p", prefix, "--json")
    assert refused.code == 2
    assert refused.json()["ok"] is False
    assert prefix.is_dir()


@pytest.mark.parametrize("sign", ["$", "`", '"', "\\"])
def test_a_path_that_shells_misread_is_refused(llmenv: Program, tmp_path: Path, sign: str) -> None:
    """Scripts with a long path are started through a shell, which would run what the path says."""
    ended = llmenv("create", "-p", tmp_path / f"a{sign}(touch x)", "six")
    assert ended.code == 2
    assert "shells" in ended.stderr


def test_a_place_that_takes_no_file_is_told_at_once(llmenv: Program) -> None:
    """A lock that cannot be made is no lock that somebody else holds."""
    ended = llmenv("create", "-y", "six", "-p", "/proc/llmenv", LLMENV_LOCK_TIMEOUT="60")
    assert ended.code == 1
    assert "waiting" not in ended.stderr
