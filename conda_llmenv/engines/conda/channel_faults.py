"""What is wrong with a channel that cannot be read, told from the texts of conda, requests and urllib3."""

from __future__ import annotations

import re

from msgspec import Struct

ANACONDA = "https://conda.anaconda.org"
"""The host that carries labels."""


class ChannelFault(Struct, frozen=True):
    """Why a channel cannot be read (ends the sentence ``channel NAME …``), and the next step."""

    why: str
    hint: str


class _Rule(Struct, frozen=True):
    pattern: re.Pattern[str]
    fault: ChannelFault


RULES = tuple(
    _Rule(re.compile(pattern), ChannelFault(why, hint))
    for pattern, why, hint in (
        (r"offline mode", "is not in the repodata cache, and this run is offline", "run once without --offline"),
        (r"allowlist|denylist", "is forbidden by the configuration of conda here",
         "`conda config --show-sources` names the file; ask whoever administers it"),
        (r"HTTP 401|401 Client", "wants credentials and got none it accepts",
         "put them into the channel's URL in .condarc, or log in with the tool of your site"),
        (r"HTTP 403|403 Client", "refuses access",
         "check the token or account, and whether this network may use the channel"),
        (r"valid channel must contain", "is not there: no repodata.json in its folders",
         "check the path; a channel has a noarch folder with repodata.json"),
        (r"HTTP 404|404 Client", "does not exist at its address",
         "check the spelling, and `channel_alias` or mirrors in .condarc"),
        (r"HTTP 407|407 Client|407 Proxy|find a proxy for|EOF when reading a line",
         "cannot be reached: the proxy wants a login",
         "put it into the proxy's address: proxy_servers in .condarc, or HTTPS_PROXY"),
        (r"proxy configuration|ProxyError", "cannot be reached through the proxy",
         "check proxy_servers in .condarc and HTTPS_PROXY"),
        (r"Exceeded \d+ redirects", "sends in circles: one redirect leads to the next",
         "check its address; a network that wants a login first does this too"),
        (r"HTTP 429|429 Client", "asks to slow down", "wait a minute and try again"),
        (r"HTTP 5\d\d|5\d\d Server Error", "is broken at the moment: its server failed", "try again later"),
        (r"Connection refused", "cannot be reached: nothing answers at its address",
         "check the address, the proxy (HTTPS_PROXY) and the network; with a warm cache --offline works"),
        (r"NameResolution|getaddrinfo|Name or service not known|name resolution",
         "cannot be reached: its host name is unknown",
         "check the address and the network; behind a proxy set HTTPS_PROXY"),
        (r"SSL|certificate", "cannot be trusted: its certificate is not known here",
         "name your site's authority with ssl_verify in .condarc, or SSL_CERT_FILE"),
        (r"timed out|[Tt]imeout", "does not answer in time", "try again; behind a proxy set HTTPS_PROXY"),
        (r"Permission denied", "may not be read by you", "ask its owner for read permission"),
        (r"No such file", "is not there: no repodata.json in its folders",
         "check the path; a channel has a noarch folder with repodata.json"),
        (r"IncompleteRead|Connection (?:broken|aborted|reset)|RemoteDisconnected|Content-Length",
         "broke off while it was read", "try again"),
        (r"JSON|malformed|truncated|EOF while|missing field|expected (?:value|struct)|invalid (?:type|length)",
         "has repodata that cannot be read",
         "it is cut short or damaged: try again; for a folder of your own, index it again"),
        (r"HTTP \d\d\d|HTTPError|CONNECTION FAILED", "cannot be read", ""),
    )
)  # fmt: skip
"""The most specific first."""


def channel_fault(text: str, url: str) -> ChannelFault | None:
    """Return what a text says about the channel at ``url``, or None where it is about something else."""
    found = next((rule.fault for rule in RULES if rule.pattern.search(text)), None)
    if found is not None and "/label/" in url and not url.startswith(ANACONDA) and re.search("404|No such file", text):
        name = url[url.rindex("/", 0, url.index("/label/")) + 1 :]
        return ChannelFault(found.why, f"mirrors do not carry labels; name the original instead: {ANACONDA}/{name}")
    return found
