"""How an engine reaches channels; light, since the registry is read before any library is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct


class NetworkSettings(Protocol):
    """The part of a conda configuration that concerns the network, under conda's own names."""

    @property
    def ssl_verify(self) -> bool | str:
        """Whether certificates are checked; a path is a bundle of further authorities."""

    @property
    def proxy_servers(self) -> Mapping[str, str]:
        """Scheme (``http``, ``https``) → proxy URL; keys that name a host as well are left out, for want of a way."""

    @property
    def remote_max_retries(self) -> int:
        """How often a request is tried again after a transient error."""

    @property
    def conda_only(self) -> tuple[str, ...]:
        """What is configured and only conda itself can honour, each as ``the KEY of FILE:LINE``; empty for nothing."""


class ClientOptions(Struct, frozen=True):
    """How to reach channels.

    Attributes:
        ssl_verify: True, False, or the path of a certificate bundle or of a folder of certificates.
        proxy_servers: scheme → proxy URL; empty for what the environment says.
        max_retries: how often a request is tried again after a transient error.
        downloads: packages fetched at the same time.
    """

    ssl_verify: bool | str = True
    proxy_servers: Mapping[str, str] = {}
    max_retries: int = 3
    downloads: int = 8
