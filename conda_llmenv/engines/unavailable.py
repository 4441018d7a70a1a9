"""Why a channel cannot be read: one sentence and one next step a kind, whichever library met it.

Each engine has a table of its own that tells the kind from the words of its library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from conda_llmenv.errors import ChannelUnavailable
from conda_llmenv.model import Channel
from conda_llmenv.redact import mask, strip

ANACONDA = "https://conda.anaconda.org"
"""The host that carries labels."""

_NOT_THERE = re.compile(r"404|No such file")


class ChannelFault(Struct, frozen=True):
    """Why a channel cannot be read (ends the sentence ``channel NAME …``), and the next step."""

    why: str
    hint: str


KINDS = {
    "offline": ChannelFault("is not in the repodata cache, and this run is offline", "run once without --offline"),
    "forbidden": ChannelFault(
        "is forbidden by the configuration of conda here",
        "`conda config --show-sources` names the file; ask whoever administers it",
    ),
    "credentials": ChannelFault(
        "wants credentials and got none it accepts",
        "put them into the channel's URL in .condarc, or use `anaconda login` or (not for conda) `rattler auth login`",
    ),
    "refused": ChannelFault(
        "refuses access", "check the token or account, and whether this network may use the channel"
    ),
    "address": ChannelFault(
        "does not exist at its address", "check the spelling, and `channel_alias` or mirrors in .condarc"
    ),
    "folder": ChannelFault(
        "is not there: no repodata.json in its folders",
        "check the path; a channel has a noarch folder with repodata.json",
    ),
    "proxy-login": ChannelFault(
        "cannot be reached: the proxy wants a login",
        "put it into the proxy's address: proxy_servers in .condarc, or HTTPS_PROXY",
    ),
    "proxy": ChannelFault("cannot be reached through the proxy", "check proxy_servers in .condarc and HTTPS_PROXY"),
    "circle": ChannelFault(
        "sends in circles: one redirect leads to the next",
        "check its address; a network that wants a login first does this too",
    ),
    "slow-down": ChannelFault("asks to slow down", "wait a minute and try again"),
    "server": ChannelFault("is broken at the moment: its server failed", "try again later"),
    "no-answer": ChannelFault(
        "cannot be reached: nothing answers at its address",
        "check the address, the proxy (HTTPS_PROXY) and the network; with a warm cache --offline works",
    ),
    "no-route": ChannelFault(
        "cannot be reached: there is no way to it from here", "check the network; with a warm cache --offline works"
    ),
    "no-host": ChannelFault(
        "cannot be reached: its host name is unknown",
        "check the address and the network; behind a proxy set HTTPS_PROXY",
    ),
    "certificate": ChannelFault(
        "cannot be trusted: its certificate is not known here",
        "name your site's authority with ssl_verify in .condarc, or SSL_CERT_FILE",
    ),
    "timeout": ChannelFault("does not answer in time", "try again; behind a proxy set HTTPS_PROXY"),
    "permission": ChannelFault("may not be read by you", "ask its owner for read permission"),
    "broke-off": ChannelFault("broke off while it was read", "try again"),
    "damaged": ChannelFault(
        "has repodata that cannot be read",
        "it is cut short or damaged: try again; for a folder of your own, index it again",
    ),
    "unread": ChannelFault("cannot be read", ""),
}
"""Every kind."""

Rules = Sequence[tuple[str, str]]
"""Patterns of a library's words and the kind they tell, the most specific first."""


def kind_of_fault(text: str, rules: Rules) -> str | None:
    """Return the kind of the first rule that a text matches, None where it is about something else."""
    return next((kind for pattern, kind in rules if re.search(pattern, text)), None)


def unavailable(kind: str, channel: Channel, text: str, details: Iterable[str]) -> ChannelUnavailable:
    """Return the failure of a channel.

    Args:
        kind: a key of :data:`KINDS`.
        channel: as it was asked for.
        text: what the library said.
        details: of that, what a person should see.
    """
    fault, shown = KINDS[kind], mask(channel.name)
    return ChannelUnavailable(
        f"channel {shown} {fault.why}",
        channel=shown,
        details=(f"address  {mask(channel.url)}", *details),
        hint=_label_hint(channel.url, text) or fault.hint,
    )


def _label_hint(url: str, text: str) -> str:
    """Return where a label is to be had that a mirror lacks: mirrors carry channels, and not their labels."""
    if "/label/" not in url or url.startswith(ANACONDA) or not _NOT_THERE.search(text):
        return ""
    clean = strip(url)
    name = clean[clean.rindex("/", 0, clean.index("/label/")) + 1 :]
    return f"mirrors do not carry labels; name the original instead: {ANACONDA}/{name}"
