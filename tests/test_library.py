"""Files are found by name, nearest first, and nothing outside the folders is reachable by a name."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from conda_llmenv.errors import NotFoundError
from conda_llmenv.library import READ_LIMIT, FileLibrary, default_library
from conda_llmenv.model import Kind, Layer


def library(tmp_path: Path, files: dict[str, str]) -> FileLibrary:
    """Return the library of ``work`` with a configuration in ``config`` and a package in ``package``."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return FileLibrary(tmp_path / "work", tmp_path / "config", tmp_path / "package/envs", tmp_path / "package/recipes")


def test_the_nearest_file_wins_and_names_those_it_hides(tmp_path: Path) -> None:
    """Project, then the person's configuration, then the package; .yml before .yaml."""
    names = ["work/envs/x.yml", "work/envs/x.yaml", "config/envs/x.yml", "package/envs/x.yml"]
    found = library(tmp_path, dict.fromkeys(names, "")).fragment("x")
    assert found is not None
    assert (found.display, found.directory) == ("./envs/x.yml", tmp_path / "work/envs")
    assert found.shadows == ("./envs/x.yaml", f"{tmp_path}/config/envs/x.yml", "envs/x.yml")


def test_each_kind_has_its_folder(tmp_path: Path) -> None:
    """A tier is no fragment and a fragment no tier."""
    files = {
        "package/envs/a.yml": "",
        "package/envs/tiers/t.yaml": "",
        "package/recipes/r.yml": "",
        "work/llmenv.yaml": "{}",
    }
    where = library(tmp_path, files)
    assert (where.names("fragment"), where.names("tier"), where.names("recipe")) == (("a",), ("t",), ("r",))
    assert where.tier("a") is None
    assert where.fragment("t") is None
    tier, project = where.tier("t"), where.project()
    assert tier is not None
    assert project is not None
    assert (tier.kind, tier.layer, tier.display) == (Kind.TIER, Layer.TIER, "envs/tiers/t.yaml")
    assert (project.kind, project.layer, project.content) == (Kind.PROJECT, Layer.PROJECT, b"{}")


def test_only_files_and_pipes_of_the_shell_are_read(tmp_path: Path) -> None:
    """A named pipe would be waited for without end, and a device read without end; both are refused at once."""
    where = library(tmp_path, {"work/x.yml": "a: 1"})
    os.mkfifo(tmp_path / "work/pipe")
    for path, word in (("pipe", "a named pipe"), ("/dev/zero", "a device"), (str(tmp_path), "a folder")):
        with pytest.raises(NotFoundError, match=f"cannot be read: it is {word}"):
            where.file(Path(path))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(NotFoundError, match="it is a socket"):
            where.file(tmp_path / "socket")
    with pytest.raises(NotFoundError, match="the path is empty"):
        where.file(Path())
    (tmp_path / "work/link.yml").symlink_to("x.yml")
    assert where.file(Path("link.yml")).content == b"a: 1"


def test_a_process_substitution_is_read_to_its_end(tmp_path: Path) -> None:
    """`-f <(…)` is a pipe that has a writer, which may take its time."""
    reading, writing = os.pipe()

    def write_and_close() -> None:
        os.write(writing, b"a: 1")
        os.close(writing)

    late = threading.Timer(0.2, write_and_close)
    late.start()
    assert library(tmp_path, {}).file(Path(f"/dev/fd/{reading}")).content == b"a: 1"
    late.join()
    os.close(reading)


@pytest.mark.parametrize("name", ["../secret", "..", "tiers/t", "/etc/passwd", "a\n", "", "A", ".hidden", "x" * 300])
def test_a_hostile_name_finds_nothing(tmp_path: Path, name: str) -> None:
    """Names are matched whole before they reach the disk."""
    where = library(
        tmp_path, {"package/secret.yml": "", "package/envs/tiers/t.yml": "", "package/envs/.hidden.yml": ""}
    )
    assert where.fragment(name) is None
    assert where.names("fragment") == ()


def test_folders_and_broken_links_are_no_files(tmp_path: Path) -> None:
    """They are passed over, not tripped over."""
    where = library(tmp_path, {"work/envs/d.yml/inner.yml": "", "package/envs/d.yml": "x"})
    (tmp_path / "work/envs/broken.yml").symlink_to(tmp_path / "nowhere")
    found = where.fragment("d")
    assert found is not None
    assert found.content == b"x"
    assert where.fragment("broken") is None
    assert where.names("fragment") == ("d",)


def test_a_given_file_keeps_the_path_as_typed(tmp_path: Path) -> None:
    """And is taken from the project folder; what cannot be read says why."""
    where = library(tmp_path, {"work/sub/e.yml": "x"})
    found = where.file(Path("sub/e.yml"))
    assert (found.display, found.directory, found.layer) == ("sub/e.yml", tmp_path / "work/sub", Layer.COMMAND_LINE)
    for path, word in ((Path("gone.yml"), "No such file"), (Path("sub"), "it is a folder")):
        with pytest.raises(NotFoundError, match=word):
            where.file(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_reported(tmp_path: Path) -> None:
    """One sentence, no traceback."""
    where = library(tmp_path, {"work/e.yml": "x"})
    (tmp_path / "work/e.yml").chmod(0)
    with pytest.raises(NotFoundError, match="Permission denied"):
        where.file(Path("e.yml"))


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    """A hundred megabytes cost one."""
    where = library(tmp_path, {"work/big.yml": ""})
    os.truncate(tmp_path / "work/big.yml", 100 * 1024 * 1024)
    assert len(where.file(Path("big.yml")).content) == READ_LIMIT


def test_in_a_checkout_a_file_does_not_hide_itself() -> None:
    """Run from its own source folder, project and package are the same files."""
    where = default_library(Path(__file__).parent.parent)
    base = where.fragment("base")
    assert base is not None
    assert (base.display, base.shadows) == ("./envs/base.yml", ())
    assert "cpu" in where.names("tier")


def test_the_persons_own_files_are_found(isolated_home: Path, tmp_path: Path) -> None:
    """Below ~/.config/llmenv, shown with the tilde."""
    folder = isolated_home / ".config/llmenv/envs"
    folder.mkdir(parents=True)
    (folder / "mine.yml").write_text("")
    found = default_library(tmp_path).fragment("mine")
    assert found is not None
    assert found.display == "~/.config/llmenv/envs/mine.yml"
