"""Which records are left to choose from: channel priority, channels named in specs, dates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

import pytest

from conda_llmenv.engines.libmamba.candidates import Admitted, admit
from conda_llmenv.engines.libmamba.convert import Candidate, Wanted
from conda_llmenv.errors import Unsatisfiable

FIRST, SECOND = "https://a.example/first", "https://a.example/second"
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.timezone.utc)


def candidate(name: str, version: str, channel: str, timestamp: dt.datetime | None = NOON) -> Candidate:
    """Return a record as far as the rules look at it."""
    return Candidate(name, channel, "noarch", f"{name}-{version}-0.conda", timestamp, None)


EVERYTHING = (
    candidate("shared", "9", SECOND),
    candidate("shared", "1", FIRST),
    candidate("same", "1", SECOND),
    candidate("same", "1", FIRST),
    candidate("only", "1", SECOND),
)


def left(
    found: Iterable[Candidate] = EVERYTHING,
    *wanted: Wanted,
    priority: str = "strict",
    cutoff: dt.datetime | None = None,
) -> Admitted:
    """Apply the rules with the two channels in their order."""
    return admit(found, wanted, order=(FIRST, SECOND), priority=priority, cutoff=cutoff)


def told(admitted: Admitted) -> set[tuple[str, str]]:
    """Return file names and channels."""
    return {(one.file_name, one.channel) for one in admitted.candidates}


def test_strict_leaves_the_first_channel_that_has_the_name() -> None:
    """And remembers of which packages it hid something, for the message when nothing fits."""
    admitted = left()
    expected = {("shared-1-0.conda", FIRST), ("same-1-0.conda", FIRST), ("only-1-0.conda", SECOND)}
    assert told(admitted) == expected
    assert admitted.hidden == {"shared", "same"}


def test_flexible_leaves_everything() -> None:
    """Which channel comes first is then a preference."""
    assert len(left(priority="flexible").candidates) == len(EVERYTHING)


def test_without_priority_equal_builds_come_from_the_first_channel() -> None:
    """A higher version of a later channel stays, a copy of what an earlier one has does not."""
    expected = {("shared-1-0.conda", FIRST), ("shared-9-0.conda", SECOND)}
    assert told(left(priority="disabled")) == {*expected, ("same-1-0.conda", FIRST), ("only-1-0.conda", SECOND)}


@pytest.mark.parametrize("priority", ["strict", "flexible", "disabled"])
def test_a_channel_in_a_spec_wins_over_any_priority(priority: str) -> None:
    """As with conda, `second::shared` is second's, though an earlier channel has the name."""
    admitted = left(EVERYTHING, Wanted("shared", "shared", SECOND), priority=priority)
    assert {one for one in told(admitted) if one[0].startswith("shared")} == {("shared-9-0.conda", SECOND)}
    assert "shared" not in admitted.hidden


def test_one_package_from_two_channels_cannot_be() -> None:
    """The conflict is named before any solver sees it, without what is secret in an address."""
    wanted = (Wanted("shared", "shared", FIRST), Wanted("shared", "shared", "https://u:word@a.example/second"))
    with pytest.raises(Unsatisfiable, match="shared cannot come from two channels") as caught:
        left(EVERYTHING, *wanted)
    assert caught.value.packages == ("shared",)
    assert "word" not in "".join(caught.value.details)


def test_a_cutoff_keeps_its_own_moment_and_leaves_out_what_has_no_date() -> None:
    """Milliseconds count; a record that says nothing cannot be shown to be old enough."""
    later = NOON + dt.timedelta(milliseconds=1)
    found = [
        candidate("a", "1", FIRST),
        candidate("a", "2", FIRST, later),
        candidate("a", "3", FIRST, None),
    ]
    assert told(left(found, cutoff=NOON)) == {("a-1-0.conda", FIRST)}
    assert len(left(found).candidates) == 3


def test_what_is_too_new_still_counts_for_strict_priority() -> None:
    """Otherwise a cut-off would open a name to a later channel."""
    found = [candidate("a", "2", FIRST, NOON + dt.timedelta(days=1)), candidate("a", "9", SECOND)]
    assert told(left(found, cutoff=NOON)) == set()


def test_the_newest_of_a_package_comes_first() -> None:
    """Libmamba counts seconds; of builds of one second it takes the first it sees."""
    found = [
        candidate("a", "1", FIRST),
        candidate("a", "2", FIRST, NOON + dt.timedelta(milliseconds=700)),
        candidate("a", "0", FIRST),
    ]
    for order in (found, found[::-1]):
        names = [one.file_name for one in left(order).candidates]
        assert names == ["a-2-0.conda", "a-0-0.conda", "a-1-0.conda"]
