"""Which option lines a lock keeps."""

from __future__ import annotations

import pytest

from conda_llmenv.locks.options import portable


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("--index-url https://h.example/simple", "--index-url https://h.example/simple"),
        ("--index-url https://me:secret@h.example/simple", "--index-url https://h.example/simple"),
        ("--find-links https://h.example/wheels.html", "--find-links https://h.example/wheels.html"),
        ("--find-links file:///srv/wheels", "--find-links file:///srv/wheels"),
        ("--constraint https://h.example/pins.txt", "--constraint https://h.example/pins.txt"),
        ("--no-binary trl", "--no-binary trl"),
        ("--pre", "--pre"),
        ("--find-links /home/me/wheels", None),
        ("--constraint /home/me/pins.txt", None),
    ],
)
def test_an_option_is_kept_where_it_means_the_same_elsewhere(line: str, kept: str | None) -> None:
    """Addresses and flags stay, without secrets; files and folders of this machine go."""
    assert portable([line]) == ((kept,) if kept is not None else ())
