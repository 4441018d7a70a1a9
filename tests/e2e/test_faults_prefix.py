"""What stands where an environment should go, who may write there, and names that reach the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.program import Program


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return everything in a folder with its mode and content."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("command", [("create", "-y", "six"), ("remove", "-y")], ids=" ".join)
@pytest.mark.parametrize("kind", ["a file", "a dangling link", "a folder with data", "a link to a folder with data"])
def test_what_is_not_ours_is_left_alone(llmenv: Program, tmp_path: Path, kind: str, command: tuple[str, ...]) -> None:
    """Fault 33: whatever stands at the path is named and stays as it is, even with ``-y``."""
    place = tmp_path / "place"
    data = tmp_path / "data"
    data.mkdir()
    (data / "thesis.tex").write_text("years of work")
    prefix = place / "env"
    place.mkdir()
    if kind == "a file":
        prefix.write_text("mine")
    elif kind == "a dangling link":
        prefix.symlink_to("/nowhere/at/all")
    elif kind == "a folder with data":
        prefix.mkdir()
        (prefix / "thesis.tex").write_text("years of work")
    else:
        prefix.symlink_to(data)
    before = snapshot(tmp_path / "place"), snapshot(data)
    ended = llmenv(*command, "-p", prefix)
    assert ended.code in (1, 2), ended.text
    assert str(prefix) in ended.stderr
    assert "hint: " in ended.stderr
    assert "Traceback" not in ended.text
    assert (snapshot(tmp_path / "place"), snapshot(data)) == before


def test_an_empty_folder_is_given_back(llmenv: Program, prefix: Path) -> None:
    """Fault 33: a folder that was there before the failure is there after it, and empty."""
    prefix.mkdir(parents=True)
    llmenv.write("broken.yml", "dependencies:\n- python\n- pip\n- pip: [no-such-package==0]\n")
    assert llmenv("create", "-p", prefix, "-f", "broken.yml").code == 1
    assert list(prefix.parent.iterdir()) == [prefix]
    assert list(prefix.iterdir()) == []


HOSTILE = [
    "..", "../x", "a/b", "/etc", "-p", "--help", "$(touch pwned)", "`id`", "a;b", "a|b", "a&b", "a\nb", "a\tb",
    "x" * 300, "naïve", "名", "a b", " a", "a ", "a\\b", "a:b", "a*b", "a?b", "a'b", 'a"b', "<x>", "%2e%2e", ".", "~",
    "#a", "\u202egnp", "con\r", "base", "root/..", "a=b", "${HOME}", "\x1b[31mred",
]  # fmt: skip


@pytest.mark.parametrize("option", ["-n", "--tier", "--recipe"])
def test_hostile_names_are_refused_before_anything_is_written(llmenv: Program, option: str) -> None:
    """Fault 34: no name reaches a path or a shell; exit code 2, no control character shown, nothing on the disk."""
    for name in HOSTILE if option == "-n" else HOSTILE[::4]:
        words = [f"{option}={name}"] if option.startswith("--") else [f"-n{name}"]
        ended = llmenv("create", *words, *(() if option == "-n" else ("-n", "x")), "six")
        assert ended.code == 2, (name, ended.text)
        assert "Traceback" not in ended.text
        assert "\x1b" not in ended.text
        assert "\u202e" not in ended.text
        assert list(Path(llmenv.environ["HOME"]).iterdir()) == []
        assert list(llmenv.cwd.iterdir()) == []


def test_a_parent_that_cannot_be_written(llmenv: Program, tmp_path: Path) -> None:
    """Faults 10 and 33: permission denied is one sentence with the folder."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    ended = llmenv("create", "-p", closed / "env", "six")
    assert ended.code == 1
    assert str(closed) in ended.stderr
    assert "Traceback" not in ended.text
