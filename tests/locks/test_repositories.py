"""The commit, branch or tag in the address of a repository."""

from __future__ import annotations

import pytest

from conda_llmenv.locks.repositories import split_reference


@pytest.mark.parametrize(
    ("address", "repository", "reference"),
    [
        ("https://h.example/a/b", "https://h.example/a/b", ""),
        ("https://h.example/a/b@v1", "https://h.example/a/b", "v1"),
        ("https://h.example/a/b.git@feature/x", "https://h.example/a/b.git", "feature/x"),
        ("ssh://git@h.example/a/b", "ssh://git@h.example/a/b", ""),
        ("ssh://git@h.example/a/b@main", "ssh://git@h.example/a/b", "main"),
        ("git@h.example:a/b", "git@h.example:a/b", ""),
        ("file:///srv/b@0a1b", "file:///srv/b", "0a1b"),
    ],
)
def test_the_last_at_of_the_path_counts(address: str, repository: str, reference: str) -> None:
    """As with pip; a user's name before the host is none."""
    assert split_reference(address) == (repository, reference)
