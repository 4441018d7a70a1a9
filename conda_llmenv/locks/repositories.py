"""Addresses of repositories, and the commit, branch or tag that stands behind them."""

from __future__ import annotations

import re

_COMMIT = re.compile(r"[0-9a-f]{40}")


def is_commit(text: str) -> bool:
    """Return whether a text is a commit of git in full, which alone stays what it is."""
    return _COMMIT.fullmatch(text) is not None


def split_reference(address: str) -> tuple[str, str]:
    """Return the address of a repository, and the commit, branch or tag it names; empty where it names none.

    As with pip the last ``@`` of the path counts, and that of ``git@host`` does not.
    """
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    repository, at, reference = path.rpartition("@")
    return (f"{scheme}{mark}{host}{slash}{repository}", reference) if at else (address, "")
