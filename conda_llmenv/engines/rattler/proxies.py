"""conda's ``proxy_servers`` in the library's terms: one proxy a scheme, and hosts that are reached without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

SCHEMES = ("http", "https")


class Proxies(Struct, frozen=True):
    """What the library can be told.

    Attributes:
        servers: scheme → proxy URL.
        direct: hosts that no proxy is asked for.
    """

    servers: Mapping[str, str] = {}
    direct: tuple[str, ...] = ()


def choose(configured: Mapping[str, str], bases: Iterable[str], no_proxy: str = "") -> Proxies:
    """Return the proxies for some channels.

    As in conda, the most particular key counts: scheme and host, scheme, ``all`` and host, ``all``. The library knows
    no hosts here, so a proxy of a particular host is given for its scheme, and the other hosts go without.

    Args:
        configured: ``proxy_servers``.
        bases: channel URLs.
        no_proxy: ``NO_PROXY`` of the environment: hosts with commas between.
    """
    direct = [host.strip() for host in no_proxy.split(",") if host.strip()]
    servers = {}
    for scheme in SCHEMES:
        found = {host: _select(configured, scheme, host) for host in _hosts(bases, scheme)}
        general = configured.get(scheme) or configured.get("all")
        used = next((url for url in found.values() if url), general)
        if used:
            servers[scheme] = used if "://" in used else f"http://{used}"
            direct += [host for host, url in found.items() if not url]
    return Proxies(servers, tuple(dict.fromkeys(direct))) if servers else Proxies()


def _select(configured: Mapping[str, str], scheme: str, host: str) -> str | None:
    keys = (f"{scheme}://{host}", scheme, f"all://{host}", "all")
    return next((configured[key] for key in keys if key in configured), None)


def _hosts(bases: Iterable[str], scheme: str) -> list[str]:
    parts = [urlsplit(base) for base in bases]
    return list(dict.fromkeys(part.hostname for part in parts if part.scheme == scheme and part.hostname))
