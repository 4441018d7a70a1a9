"""The case files themselves: readable, complete, and about what is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.cases import BASE, FOLDER, SOLVERS, Asked, Theme, everything, plain, read
from tests.conformance.worlds import NOWHERE, small_channels

FILES = sorted(FOLDER.glob("*.yml"))
CASES = pytest.mark.parametrize("asked", everything(), ids=lambda asked: asked.id)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_misspelt_key_is_refused(path: Path) -> None:
    """A key nobody reads would be an expectation nobody checks."""
    loaded: Any = plain(path)
    loaded["cases"][0]["recods"] = []
    with pytest.raises(msgspec.ValidationError, match="recods"):
        msgspec.convert(loaded, Theme)
    assert read(path).cases


def test_ids_are_unique() -> None:
    """An answer is found by its case's id."""
    assert [name for name, count in Counter(asked.id for asked in everything()).items() if count > 1] == []


@CASES
def test_a_case_expects_one_thing(asked: Asked) -> None:
    """All records, or some with their count, or a failure."""
    case = asked.case
    assert [case.records is not None, bool(case.has), case.error is not None].count(True) == 1
    assert bool(case.count) is bool(case.has)
    assert case.why.endswith(".")
    assert case.channels or case.error or not case.specs


@CASES
def test_a_listed_difference_is_explained(asked: Asked) -> None:
    """Each difference is of a known engine, says why, and what is there instead, in one way."""
    solvers = [name for names in asked.case.differs for name in names.split(", ")]
    assert len(set(solvers)) == len(solvers)
    assert set(solvers) <= set(SOLVERS)
    for names, difference in asked.case.differs.items():
        assert len(difference.why.split()) > 5
        told = [difference.records is not None, difference.error is not None, bool(difference.instead)]
        assert told.count(True) == 1 or (told.count(True) == 0 and difference.lacks)
        assert not (BASE in names and (difference.instead or difference.lacks)), "told from itself"


def test_small_worlds_know_their_channels() -> None:
    """A channel that a case names is in the table, or meant not to be there."""
    known = {*small_channels(), NOWHERE}
    named = {name for asked in everything() if asked.world == "small" for name in asked.case.channels}
    assert named <= known
    assert set(small_channels()) <= named, "a channel that no case uses"


def test_every_small_package_is_there_for_a_reason() -> None:
    """No two rows are one package, and each file name is possible."""
    for name, channel in small_channels().items():
        files = Counter((row.folder, row.file_name) for row in channel.packages)
        assert [file for file, count in files.items() if count > 1] == [], name
        assert all(len(row.is_.split()) == 3 for row in channel.packages), name
