"""conda's list of environments: ours get on it, and nothing of others gets lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conda_llmenv.prefix.environments import known, register, registry_file, unregister
from tests.prefix.test_crashes import environment as variables
from tests.prefix.test_location import environment


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """Return the list of a home that has no ~/.conda yet."""
    return tmp_path / "home" / ".conda" / "environments.txt"


def test_the_list_is_in_the_home_folder() -> None:
    """Where conda has it."""
    assert registry_file({"HOME": "/home/me"}) == Path("/home/me/.conda/environments.txt")


def test_an_environment_is_listed_once(registry: Path, tmp_path: Path) -> None:
    """Registering again changes nothing; others' lines stay, dead ones too, as with conda."""
    registry.parent.mkdir(parents=True)
    registry.write_text("/dead/env\n")
    for _ in range(2):
        assert register(tmp_path / "a" / ".." / "env", registry) == ()
    assert registry.read_text() == f"/dead/env\n{tmp_path / 'env'}\n"
    assert [path.name for path in registry.parent.iterdir()] == ["environments.txt"]


def test_a_list_without_final_line_break_is_continued(registry: Path) -> None:
    """The entries do not run together."""
    registry.parent.mkdir(parents=True)
    registry.write_text("/dead/env")
    register(Path("/new"), registry)
    assert registry.read_text() == "/dead/env\n/new\n"


def test_unregistering_drops_dead_entries(registry: Path, tmp_path: Path) -> None:
    """As conda does when it rewrites the list."""
    alive = environment(tmp_path / "alive")
    registry.parent.mkdir(parents=True)
    registry.write_text(f"/dead/env\n{alive}\n/gone\n")
    assert unregister(Path("/gone"), registry) == ()
    assert registry.read_text() == f"{alive}\n"
    assert unregister(Path("/gone"), registry.with_name("missing")) == ()


@pytest.mark.parametrize("kind", ["pipe", "device", "endless device", "folder"])
def test_what_is_no_plain_file_is_left_alone(kind: str, registry: Path, tmp_path: Path) -> None:
    """A pipe, a device or a folder in the list's place neither hangs nor fails what was made: it is said, and stays."""
    registry.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(registry)
    elif kind == "folder":
        registry.mkdir()
    else:
        registry.symlink_to("/dev/null" if kind == "device" else "/dev/zero")
    named = environment(tmp_path / "envs" / "named")
    before = registry.lstat()
    for notices in (register(named, registry), unregister(named, registry)):
        assert [notice.code for notice in notices] == ["environments-txt"]
        assert "it is no plain file" in notices[0].message
    assert known(registry, (tmp_path / "envs",)) == (named,)
    assert registry.lstat().st_mode == before.st_mode


def test_listing_drops_dead_entries_and_adds_those_in_folders(registry: Path, tmp_path: Path) -> None:
    """Registered ones and the folders of named environments together, sorted."""
    alive = environment(tmp_path / "z")
    named = environment(tmp_path / "envs" / "named")
    (tmp_path / "envs" / "data").mkdir()
    registry.parent.mkdir(parents=True)
    registry.write_bytes(f"/dead\n{alive}\n".encode() + b"/odd/\xff\n")
    assert known(registry, (tmp_path / "envs", tmp_path / "missing")) == (named, alive)
    assert registry.read_text() == f"{alive}\n"


def test_twenty_register_at_once(registry: Path) -> None:
    """No line gets lost, which conda itself does not promise."""
    script = "import sys; from pathlib import Path; from conda_llmenv.prefix.environments import register; "
    script += "assert register(Path(sys.argv[1]), Path(sys.argv[2])) == ()"
    names = [f"/envs/{number}" for number in range(20)]
    runs = [
        subprocess.Popen([sys.executable, "-c", script, name, str(registry)], env=variables(registry.parent))
        for name in names
    ]
    assert [run.wait(60) for run in runs] == [0] * 20
    assert sorted(registry.read_text().split()) == sorted(names)


@pytest.mark.parametrize("kind", ["file in the way", "folder in the way"])
def test_a_home_that_cannot_be_written_is_a_notice(kind: str, registry: Path) -> None:
    """The environment works; only the list lacks it."""
    if kind == "file in the way":
        registry.parent.parent.mkdir()
        registry.parent.touch()
    else:
        registry.mkdir(parents=True)
    notices = register(Path("/env"), registry)
    assert [notice.code for notice in notices] == ["environments-txt"]
    assert "the environment works, but conda will not list it" in notices[0].message


def test_a_linked_list_stays_a_link(registry: Path, tmp_path: Path) -> None:
    """People keep their settings in a repository."""
    (tmp_path / "dotfiles").mkdir()
    registry.parent.mkdir(parents=True)
    registry.symlink_to(tmp_path / "dotfiles" / "environments.txt")
    register(Path("/env"), registry)
    assert registry.is_symlink()
    assert (tmp_path / "dotfiles" / "environments.txt").read_text() == "/env\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_is_a_notice(registry: Path) -> None:
    """The same, by permission."""
    registry.parent.parent.mkdir(mode=0o500)
    assert [notice.code for notice in register(Path("/env"), registry)] == ["environments-txt"]
