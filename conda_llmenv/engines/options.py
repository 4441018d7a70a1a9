"""How an engine reaches channels; light, since the registry is read before any library is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from conda_llmenv.model import Notice
from conda_llmenv.ports import Reporter

WITH_CONDA = "only conda itself can do that: run this as `conda llmenv`, with --engine conda"


LONGEST_PAUSE = 6
"""A pause between two tries counts up to two to the power of this, in seconds."""


class NetworkSettings(Protocol):
    """The part of a conda configuration that concerns the network, under conda's own names."""

    @property
    def ssl_verify(self) -> bool | str:
        """Whether certificates are checked; a path is a bundle of further authorities."""

    @property
    def proxy_servers(self) -> Mapping[str, str]:
        """Scheme, ``all``, or either with a host (``https://host``) → proxy URL; the most particular key counts."""

    @property
    def remote_max_retries(self) -> int:
        """How often a request is tried again after a transient error."""

    @property
    def remote_read_timeout_secs(self) -> float:
        """How many seconds nothing may come from a server; 0 for as many as it likes."""

    @property
    def conda_only(self) -> tuple[str, ...]:
        """What is configured and only conda itself can honour, each as ``the KEY of FILE:LINE``; empty for nothing."""


class ClientOptions(Struct, frozen=True):
    """How to reach channels.

    Attributes:
        ssl_verify: True, False, or the path of a certificate bundle or of a folder of certificates.
        proxy_servers: as in the configuration; empty for what the environment says.
        max_retries: how often a request is tried again after a transient error.
        downloads: packages fetched at the same time.
        read_timeout: seconds in which next to nothing arrives before a server is given up; 0 for no limit.
        ignored: settings, each with its place, that an engine made with these options does not honour.
    """

    ssl_verify: bool | str = True
    proxy_servers: Mapping[str, str] = {}
    max_retries: int = 3
    downloads: int = 8
    read_timeout: float = 60.0
    ignored: tuple[str, ...] = ()


def patience(settings: NetworkSettings) -> float:
    """Return how many seconds without anything end the wait for a server: the read timeout, and a pause between tries.

    Pauses double from one second on, and in a pause nothing arrives either; 0 is no limit.
    """
    if not settings.remote_read_timeout_secs:
        return 0.0
    return settings.remote_read_timeout_secs + (1 << min(settings.remote_max_retries, LONGEST_PAUSE))


def notice_ignored(options: ClientOptions, reporter: Reporter) -> None:
    """Warn of what is configured and not honoured: silence would let a person look for the fault elsewhere."""
    for setting in options.ignored:
        reporter.notice(Notice("setting-ignored", f"{setting} is not honoured by this engine", hint=WITH_CONDA))
