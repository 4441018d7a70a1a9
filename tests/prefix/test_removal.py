"""Removing an environment: whole or gone, and never anything else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conda_llmenv.errors import LockBusy, NotFoundError, PrefixError
from conda_llmenv.prefix.journal import Workplace
from conda_llmenv.prefix.lock import FolderLock
from conda_llmenv.prefix.removal import recover, remove
from tests.prefix.scenario import NEW, OLD, judge, litter, make, registry
from tests.prefix.test_transaction import leave_unfinished, other_host


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return an environment, alone in its folder."""
    (tmp_path / "envs").mkdir()
    make(tmp_path / "envs" / "env", OLD)
    return tmp_path / "envs" / "env"


def test_it_is_gone_and_off_the_list(prefix: Path) -> None:
    """Nothing is left beside it either."""
    assert remove(prefix, registry=registry(prefix)) == ()
    assert not prefix.exists()
    assert registry(prefix).read_text() == ""
    assert litter(prefix) == []


def test_a_folder_that_is_no_environment_is_not_removed(prefix: Path) -> None:
    """Nor is a file, nor what is not there (row 33)."""
    data = prefix.with_name("data")
    data.mkdir()
    (data / "keep").touch()
    for target in (data, data / "keep", prefix.with_name("missing")):
        with pytest.raises(NotFoundError, match="there is no environment at"):
            remove(target)
    assert (data / "keep").exists()


def test_a_frozen_environment_is_neither_removed_nor_replaced(prefix: Path) -> None:
    """The marker of CEP 22 counts, and its message is shown."""
    (prefix / "conda-meta/frozen").write_text(json.dumps({"message": "shared by the vision group"}))
    for action in (lambda: remove(prefix), lambda: make(prefix, NEW, replace=True)):
        with pytest.raises(PrefixError, match=r"frozen .*: shared by the vision group"):
            action()
    (prefix / "conda-meta/frozen").write_text("")
    with pytest.raises(PrefixError, match="is frozen and is not removed"):
        remove(prefix)
    assert judge(prefix) == OLD


def test_conda_itself_is_protected(prefix: Path) -> None:
    """An environment that holds conda is never deleted, whatever it is called."""
    (prefix / "condabin").mkdir()
    (prefix / "condabin/conda").touch()
    for action in (lambda: remove(prefix), lambda: make(prefix, NEW, replace=True)):
        with pytest.raises(PrefixError, match="holds conda itself"):
            action()


def test_a_link_to_an_environment_is_refused(prefix: Path) -> None:
    """A link can be swapped between two looks; the message names the real place (row 32)."""
    link = prefix.with_name("link")
    link.symlink_to(prefix)
    with pytest.raises(PrefixError, match="is a link") as caught:
        remove(link)
    assert str(prefix) in caught.value.hint
    with pytest.raises(PrefixError, match="is a link"):
        make(link, NEW, replace=True)
    assert judge(prefix) == OLD


def test_the_active_environment_is_refused(prefix: Path) -> None:
    """As conda does."""
    with pytest.raises(PrefixError, match="is the active environment"):
        remove(prefix, active=prefix)


def test_one_in_use_by_a_transaction_is_refused(prefix: Path) -> None:
    """Somebody holds its lock."""
    with FolderLock(Workplace(prefix).lock, what="x"), pytest.raises(LockBusy, match=r"did not finish within 0\.2 s"):
        remove(prefix, lock_timeout=0.2)
    assert judge(prefix) == OLD


def test_an_unfinished_change_of_another_host_needs_force(prefix: Path) -> None:
    """With ``force`` the caller vouches for its death; the old environment comes back first, then goes."""
    fresh = prefix.with_name("fresh")
    leave_unfinished(fresh, other_host())
    with pytest.raises(LockBusy):
        remove(fresh)
    remove(fresh, force=True)
    assert not fresh.exists()


def test_recover_has_nothing_to_do_for_a_whole_environment(prefix: Path) -> None:
    """It says so and changes nothing."""
    assert recover(prefix) is False
    assert recover(prefix.with_name("missing")) is False
    assert judge(prefix) == OLD


@pytest.mark.skipif(sys.platform != "linux", reason="open files keep a folder busy only on network file systems")
def test_open_files_do_not_stop_a_removal(prefix: Path) -> None:
    """A process that runs from the environment keeps its open file; the name is gone at once (row 29)."""
    (prefix / "program").write_text("#!/bin/sh\nread line\n")
    (prefix / "program").chmod(0o755)
    child = subprocess.Popen([str(prefix / "program")], stdin=subprocess.PIPE, cwd=prefix)
    try:
        remove(prefix)
        assert not os.path.lexists(prefix)
    finally:
        child.communicate()
