"""One address for a distribution: commits in every spelling, and files of which one fits."""

from __future__ import annotations

import pytest

from conda_llmenv.locks.distribution_files import best_file
from conda_llmenv.locks.pip_entries import git_entry
from conda_llmenv.model import PipArtifact
from tests.locks.samples import COMMIT, FILES


@pytest.mark.parametrize(
    ("address", "pip"),
    [
        (f"git+https://h.example/a/b.git@{COMMIT}", f"git+https://h.example/a/b.git@{COMMIT}"),
        (f"git+https://h.example/a/b?rev=main#{COMMIT}", f"git+https://h.example/a/b@{COMMIT}"),
        (f"git+https://h.example/a/b?branch=x#{COMMIT}", f"git+https://h.example/a/b@{COMMIT}"),
        (f"git+https://h.example/a/b#{COMMIT}", f"git+https://h.example/a/b@{COMMIT}"),
        (f"git+ssh://git@h.example/a/b@{COMMIT}", f"git+ssh://git@h.example/a/b@{COMMIT}"),
        (f"git+ssh://git@h.example/a/b#{COMMIT}", f"git+ssh://git@h.example/a/b@{COMMIT}"),
        (f"git+https://x:tok@h.example/a/b@{COMMIT}", f"git+https://h.example/a/b@{COMMIT}"),
        (
            f"git+https://h.example/a/b@{COMMIT}#subdirectory=py/c&egg=c",
            f"git+https://h.example/a/b@{COMMIT}#subdirectory=py/c",
        ),
        (
            f"git+https://h.example/a/b?subdirectory=py%2Fc&rev=1#{COMMIT}",
            f"git+https://h.example/a/b@{COMMIT}#subdirectory=py/c",
        ),
    ],
)
def test_a_commit_is_read_in_every_spelling(address: str, pip: str) -> None:
    """pip's, conda-lock's and pixi's addresses of a commit come to one, without credentials."""
    entry = git_entry("c", "1.0", address)
    assert entry is not None
    assert (entry.commit, entry.pip_address) == (COMMIT, pip)
    assert entry.package().requirement == f"c @ {pip}"


@pytest.mark.parametrize(
    "address",
    [
        "git+https://h.example/a/b",
        "git+https://h.example/a/b@main",
        f"git+https://h.example/a/b@{COMMIT[:12]}",
        f"https://h.example/a/b@{COMMIT}",
        f"git+https://h.example/a/b@{COMMIT}0",
        "",
    ],
)
def test_what_names_no_commit_is_none(address: str) -> None:
    """A branch, a tag or the beginning of a commit may be another one tomorrow."""
    assert git_entry("c", "1.0", address) is None


def file(name: str) -> PipArtifact:
    """Return a file of an index."""
    return PipArtifact(f"{FILES}/{name}")


@pytest.mark.parametrize(
    ("names", "subdir", "python", "best"),
    [
        (["a-1-cp311-abi3-win_amd64.whl", "a-1-cp39-abi3-win_amd64.whl"], "win-64", "3.11.7", 0),
        (["a-1-cp312-cp312-win_amd64.whl", "a-1-cp39-abi3-win_amd64.whl"], "win-64", "3.11.7", 1),
        (["a-1-py3-none-any.whl", "a-1-cp311-cp311-linux_x86_64.whl"], "linux-64", "3.11", 1),
        (["a-1-py2-none-any.whl", "a-1.zip"], "linux-64", "3.11", 1),
        (["a-1-py2-none-any.whl", "a-1-cp310-cp310-win_amd64.whl"], "linux-64", "3.11", None),
        (
            ["a-1-cp311-cp311-macosx_10_9_x86_64.whl", "a-1-cp311-cp311-macosx_12_0_universal2.whl"],
            "osx-arm64",
            "3.11",
            1,
        ),
        (["a-1-cp311-cp311-manylinux_2_35_x86_64.whl", "a-1.tar.gz"], "linux-64", "3.11", 0),
        (["a-1-cp311-cp311-win_amd64.whl", "a-1-py3-none-any.whl"], "win-64", "", 1),
        (["a-1-cp311-cp311-win_amd64.whl"], "linux-64", "3.11", 0),
        (["rubbish.whl", "a-1-py3-none-any.whl"], "linux-64", "3.11", 1),
        (["a-1-py3-none-any.whl", "a-1.tar.gz"], "emscripten-wasm32", "3.11", 0),
    ],
)
def test_the_file_that_fits_is_taken(names: list[str], subdir: str, python: str, best: int | None) -> None:
    """As an installer there would: the closest wheel, else the source archive, else none; a single file as it is."""
    found = best_file([file(name) for name in names], subdir, python)
    assert (found and found.url) == (None if best is None else f"{FILES}/{names[best]}")


def test_the_file_that_was_chosen_is_kept() -> None:
    """What a resolver chose for the platform stays, though another file would fit too; not another platform's."""
    files = [file("a-1-cp311-cp311-manylinux_2_17_x86_64.whl"), file("a-1-py3-none-any.whl"), file("a-1.tar.gz")]
    for chosen in files:
        assert best_file(files, "linux-64", "3.11", chosen.url) == chosen
    assert best_file(files, "osx-64", "3.11", files[0].url) == files[1]
