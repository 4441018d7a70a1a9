"""What is wrong with a channel that cannot be read, told from the texts of conda, requests and urllib3."""

from __future__ import annotations

CHANNEL_RULES = (
    (r"offline mode", "offline"),
    (r"allowlist|denylist", "forbidden"),
    (r"HTTP 401|401 Client", "credentials"),
    (r"HTTP 403|403 Client", "refused"),
    (r"valid channel must contain", "folder"),
    (r"HTTP 404|404 Client", "address"),
    (r"HTTP 407|407 Client|407 Proxy|find a proxy for|EOF when reading a line", "proxy-login"),
    (r"proxy configuration|ProxyError", "proxy"),
    (r"Exceeded \d+ redirects", "circle"),
    (r"HTTP 429|429 Client", "slow-down"),
    (r"HTTP 5\d\d|5\d\d Server Error", "server"),
    (r"Connection refused", "no-answer"),
    (r"Network is unreachable|No route to host|Network is down", "no-route"),
    (r"NameResolution|getaddrinfo|Name or service not known|name resolution", "no-host"),
    (r"SSL|certificate", "certificate"),
    (r"timed out|[Tt]imeout", "timeout"),
    (r"Permission denied", "permission"),
    (r"No such file", "folder"),
    (r"IncompleteRead|Connection (?:broken|aborted|reset)|RemoteDisconnected|Content-Length", "broke-off"),
    (r"JSON|malformed|truncated|EOF while|missing field|expected (?:value|struct)|invalid (?:type|length)", "damaged"),
    (r"HTTP \d\d\d|HTTPError|CONNECTION FAILED", "unread"),
)
"""The most specific first."""
