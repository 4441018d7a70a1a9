"""Packages that a channel does not give out itself: repodata may name another address for them (CEP 15)."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from conda_llmenv.model import Notice, Record
from conda_llmenv.ports import Reporter
from conda_llmenv.redact import mask, strip


def notice_elsewhere(records: Iterable[Record], reporter: Reporter) -> None:
    """Tell of packages that come from another host than their channel: whoever set up a mirror wants to know."""
    found: dict[tuple[str, str], int] = {}
    for record in records:
        channel, place = urlsplit(strip(record.channel)), urlsplit(strip(record.url))
        if record.channel and place.netloc != channel.netloc:
            key = mask(record.channel), f"{place.scheme}://{place.netloc}"
            found[key] = found.get(key, 0) + 1
    for (channel_url, host), count in found.items():
        message = f"{count} packages of {channel_url} come from {host}: its repodata says so"
        hint = "if that channel is a mirror, its keeper has to correct base_url in its repodata"
        reporter.notice(Notice("packages-elsewhere", message, hint=hint))
