"""``llmenv lock --check`` for a person who did not make the lock: another checkout, another machine's paths."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.index import artifacts
from tests.index.server import write_flat
from tests.program import Program

PROJECT = """\
channels: [conda-forge]
dependencies:
  - python
  - pip
  - pip: [tinydist, -c pins.txt, --find-links wheels, -r more.txt]
"""


@pytest.fixture
def checkout(llmenv: Program, tmp_path: Path) -> Program:
    """A project with a constraint file, included requirements and a folder of wheels, locked, and checked out again."""
    wheels = [artifacts.wheel("tinydist", version) for version in ("1.1", "1.2")]
    write_flat(llmenv.cwd / "wheels", [*wheels, artifacts.wheel("other", "1.0")])
    llmenv.write("llmenv.yml", PROJECT)
    llmenv.write("pins.txt", "tinydist<1.2\n")
    llmenv.write("more.txt", "other==1.0\n")
    ended = llmenv("lock", "--format", "environment")
    assert ended.code == 0, ended.text
    llmenv.cwd = Path(shutil.copytree(llmenv.cwd, tmp_path / "elsewhere" / "checkout"))
    shutil.rmtree(tmp_path / "work")
    return llmenv


def test_a_lock_holds_no_path_and_fits_in_another_checkout(checkout: Program, tmp_path: Path) -> None:
    """Neither where it was made nor how files end their lines counts."""
    text = (checkout.cwd / "environment.lock.yml").read_text()
    assert str(tmp_path) not in text
    assert "tinydist==1.1" in text
    for name in ("pins.txt", "more.txt", "llmenv.yml"):
        path = checkout.cwd / name
        path.write_bytes(b"# of another editor\r\n" + path.read_bytes().replace(b"\n", b"\r\n"))
    ended = checkout("lock", "--check")
    assert ended.code == 0, ended.text
    assert "fits" in ended.stdout


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("pins.txt", "<1.2", "<1.1", "an included file"),
        ("more.txt", "==1.0", "==1.1", "other==1.1 (more.txt:1) is not what is locked: 1.0"),
        ("llmenv.yml", "- python", "- python >=3.10", "./llmenv.yml:3), and python was"),
        ("llmenv.yml", "[tinydist", "[tinydist, third", "third (./llmenv.yml:5) is not in the lock"),
        ("llmenv.yml", "[conda-forge]", "[pytorch, conda-forge]", "channels are pytorch > conda-forge now"),
    ],
)
def test_what_changed_is_told_with_its_line(checkout: Program, name: str, old: str, new: str, told: str) -> None:
    """Exit code 1 and a sentence for each change."""
    path = checkout.cwd / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    ended = checkout("lock", "--check")
    assert ended.code == 1, ended.text
    assert told in ended.stdout
