"""Times as reports hold them and as people read them."""

from __future__ import annotations

import pytest

from conda_llmenv.checks.moments import minute, moment, when


@pytest.mark.parametrize("text", ["2026-11-02T10:00:59+02:00", "2026-11-02T08:00:59Z", "2026-11-02T08:00:59"])
def test_any_zone_is_told_in_utc(text: str) -> None:
    """To the minute; a time without a zone is UTC."""
    assert minute(text) == "2026-11-02 08:00"
    assert when(text) == "2026-11-02 08:00 UTC"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+23:00"])
def test_what_is_no_time_stays_as_it_is(text: str) -> None:
    """A report may come from anybody: its page says what it holds, and a reader refuses it."""
    assert when(text) == text
    with pytest.raises(ValueError, match="is no time"):
        moment(text)
