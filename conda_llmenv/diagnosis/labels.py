"""Which rank wrote a line: launchers and process groups put it in front, each in its own way."""

from __future__ import annotations

import re

RANKS = 1 << 16
"""Ranks that are told apart; a larger number in front of a line is no rank."""

_LABEL = re.compile(
    r"(?:"
    r"^[\s\d:.,TZ/+-]{0,40}\[(?:rank|default|trainer|Rank )(?P<torch>\d{1,6})\]"  # torch >= 2.2, torchrun --tee
    r"|^\[\d{1,4},(?P<mpi>\d{1,6})\]<std(?:out|err)>:"  # mpirun --tag-output
    r"|^\s{0,6}(?P<task>\d{1,6}): "  # srun --label
    r"|\[(?:PG ID [^\]]{1,80} )?Rank (?P<group>\d{1,6})\]"  # c10d's process groups
    r"|\[rank: (?P<lightning>\d{1,6})\]"
    r")"
)
_SEARCHED = 200


def rank_of(text: str) -> int | None:
    """Return the rank a line is labelled with, None for one without a label."""
    match = _LABEL.search(text[:_SEARCHED])
    if match is None:
        return None
    rank = int(next(value for value in match.groups() if value is not None))
    return rank if rank < RANKS else None
