"""The times of reports: ISO 8601 in them, date and minute for people; both are UTC."""

from __future__ import annotations

import datetime as dt


def moment(started: str) -> dt.datetime:
    """Return the moment of an ISO 8601 time; one without a zone is UTC.

    Raises:
        ValueError: it is none.
    """
    try:
        found = dt.datetime.fromisoformat(f"{started[:-1]}+00:00" if started.endswith("Z") else started)
        zoned = found if found.tzinfo else found.replace(tzinfo=dt.timezone.utc)
        return zoned.astimezone(dt.timezone.utc)
    except (ValueError, OverflowError):
        raise ValueError(f"{started[:40]!r} is no time") from None


def minute(started: str) -> str:
    """Return an ISO 8601 time as ``2026-11-30 19:14``.

    Raises:
        ValueError: it is none.
    """
    return moment(started).strftime("%Y-%m-%d %H:%M")


def when(started: str) -> str:
    """Return an ISO 8601 time as ``2026-11-30 19:14 UTC``; anything else as it is."""
    try:
        return f"{minute(started)} UTC"
    except ValueError:
        return started
