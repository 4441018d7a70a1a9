"""Hashes of distributions, ``ALGORITHM:HEX``: which are well formed, and which an installer takes as proof."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from conda_llmenv.compose.problems import Unreadable

DIGITS = {"md5": 32, "sha1": 40, "sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128, "blake2b": 128}
"""Algorithm → hex digits of its digest."""

STRONG = ("sha256", "sha384", "sha512")
"""What pip takes under ``--require-hashes`` (its reference, "Hash-checking Mode")."""

_HEX = re.compile(r"[0-9a-f]+")


def checked_hash(algorithm: str, digest: str) -> str:
    """Return a hash in lower case.

    Raises:
        Unreadable: the algorithm is unknown, or the digest is no hex of its length.
    """
    algorithm, digest = algorithm.lower(), digest.lower()
    digits = DIGITS.get(algorithm)
    if digits is None:
        raise Unreadable(f"{algorithm!r} is no known kind of hash", hint=f"known are {', '.join(DIGITS)}")
    if len(digest) != digits or not _HEX.fullmatch(digest):
        raise Unreadable(f"{digest[:80]!r} is no {algorithm}: that has {digits} hex digits")
    return f"{algorithm}:{digest}"


def split_hash(text: str) -> tuple[str, str]:
    """Return algorithm and digest of ``ALGORITHM:HEX``."""
    algorithm, _, digest = text.partition(":")
    return algorithm, digest


def hash_table(hashes: Iterable[str]) -> Mapping[str, str]:
    """Return algorithm → digest, sorted; one of each algorithm."""
    return dict(sorted(map(split_hash, hashes)))


def strong(hashes: Iterable[str]) -> tuple[str, ...]:
    """Return the hashes that are proof enough to install a file."""
    return tuple(text for text in hashes if split_hash(text)[0] in STRONG)
