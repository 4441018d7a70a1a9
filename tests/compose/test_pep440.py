"""Emptiness of PEP 440 specifiers is proved, never guessed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from conda_llmenv.compose.pep440 import is_satisfiable

RELEASES = [
    "0.9",
    "1",
    "1.0.1",
    "1.1",
    "1.1a1",
    "1.1.dev1",
    "1.1.1",
    "1.1.post1",
    "1.2rc1",
    "1.2",
    "1.10",
    "2",
    "1!1.0",
    "20240102",
]
SUFFIXES = ["", ".0", ".0.0.1", ".0.0.dev1", "+cu2", "+a", ".5", ".99"]
UNIVERSE = [
    Version(release + suffix)
    for release, suffix in itertools.product([*RELEASES, "0", "1.3", "3", "20240101"], SUFFIXES)
    if not (suffix.startswith(".") and any(letter in release for letter in "adrp"))
]
ATOMS = st.one_of(
    st.builds("".join, st.tuples(st.sampled_from(["==", "!=", ">=", ">", "<=", "<"]), st.sampled_from(RELEASES))),
    st.builds("".join, st.tuples(st.sampled_from(["==", "!="]), st.sampled_from(["1.*", "1.1.*", "1.1+cu1", "1.1+2"]))),
    st.builds("~={}".format, st.sampled_from(["1.0", "1.1", "1.1.1"])),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(ATOMS, min_size=1, max_size=4))
def test_nothing_that_some_version_fits_is_called_empty(specifiers: list[str]) -> None:
    """Against brute force."""
    if not is_satisfiable(tuple(specifiers)):
        whole = SpecifierSet(",".join(specifiers))
        assert not any(whole.contains(version, prereleases=True) for version in UNIVERSE)


@pytest.mark.parametrize(
    ("specifiers", "fits"),
    [
        (("==2.1.0+cu121", "==2.1.0"), True),
        (("==2.1.0+cu121", "==2.1.0+cu118"), False),
        (("==2.1.0+cu121", ">=2.2"), False),
        ((">=2.1", "<2.1"), False),
        ((">=20240101", "<20240102"), True),
        (("~=1.4.5", ">=1.5"), False),
        (("==1.10", "==1.9"), False),
        (("===foo", "===bar"), False),
        (("===foo", ">=1"), True),
    ],
)
def test_pairs_people_meet(specifiers: tuple[str, ...], fits: bool) -> None:  # noqa: FBT001 - parametrised
    """Local versions of torch among them."""
    assert is_satisfiable(specifiers) is fits
