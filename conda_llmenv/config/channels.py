"""Channel names → addresses, by the person's configuration and conda's rules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.config.settings import CondaConfig
from conda_llmenv.errors import InputError
from conda_llmenv.model import Channel, Origin, Sourced
from conda_llmenv.redact import has_placeholder, mask, strip

FALLBACK = "conda-forge"
"""The channel where neither a fragment nor the configuration names one."""

NODEFAULTS = "nodefaults"

_SCHEMES = ("http", "https", "ftp", "s3", "file", "oci")
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_PATH = re.compile(r"\.{1,2}(?:/|\Z)|~|/")
_SUBDIR = re.compile(
    r"/(?:noarch|(?:linux|osx|win|freebsd|zos|emscripten|wasi)-(?:32|64|aarch64|arm64|armv6l|armv7l|ppc64|ppc64le|"
    r"riscv64|s390x|z|wasm32))/?\Z"
)
_TOKEN = re.compile(r"/t/(?P<token>[A-Za-z0-9-]+)(?=/|\Z)")
_NAME = re.compile(r"[^\s<>\"'`$\\^{|}?#\[\]*:,;!=@%]+")


class Resolved(Struct, frozen=True):
    """One address of a channel, and the rule and place that made it so."""

    url: str
    rule: str
    origin: Origin


def resolve_channels(
    names: Iterable[str], config: CondaConfig, *, nodefaults: bool = False, extra: Sequence[str] = ()
) -> tuple[Channel, ...]:
    """Return the channels to ask, highest priority first, each address once.

    The configured channels follow those that fragments list, as with ``conda env create``, unless ``nodefaults`` is
    asked for. Where nobody names any, it is conda-forge. ``nodefaults`` itself is never a channel.

    Args:
        names: as fragments wrote them: names, labels (``nvidia/label/cuda-12.1.0``), URLs or paths.
        config: the person's configuration.
        nodefaults: leave the configured channels out; a ``nodefaults`` among the names says the same.
        extra: channels that come before all others.

    Raises:
        InputError: a name is no channel, or an administrator's list forbids it.
    """
    wanted = [*extra, *names]
    listed = [name for name in wanted if name != NODEFAULTS]
    if not nodefaults and NODEFAULTS not in wanted:
        listed += [channel.value for channel in config.channels if channel.value != NODEFAULTS]
    found: dict[str, Channel] = {}
    for name in listed or [FALLBACK]:
        for resolved in resolve(name, config):
            found.setdefault(_identity(resolved.url), Channel(name, resolved.url))
    _check_allowed(found, config)
    return tuple(found.values())


def resolve(name: str, config: CondaConfig) -> tuple[Resolved, ...]:
    """Return the addresses that one channel name stands for, with the credentials that the configuration has for them.

    Raises:
        InputError: it is no channel.
    """
    return tuple(_with_token(resolved, config) for resolved in _resolved(name, config))


def _resolved(name: str, config: CondaConfig) -> tuple[Resolved, ...]:
    if has_placeholder(name):
        raise InputError(
            f"channel {mask(name)} holds a placeholder where a token belongs",
            hint="put the token into an environment variable and write ${NAME}, or set custom_channels in ~/.condarc",
        )
    if _SCHEME.match(name):
        return (_from_url(name, config),)
    if _PATH.match(name):
        return (Resolved(_path_url(name), "a path", Origin(name)),)
    bare = _without_subdir(name.strip("/"))
    if not _NAME.fullmatch(bare) or not bare.isprintable() or ".." in bare.split("/"):
        raise InputError(f"{name!r} is no channel", hint="give a channel's name, its URL or the path of its folder")
    return tuple(_from_name(bare, config))


def describe(channel: Channel, config: CondaConfig) -> str:
    """Return, in one line without secrets, which rule of which file turned a channel's name into its address."""
    for resolved in resolve(channel.name, config):
        if resolved.url == channel.url:
            place = "" if resolved.origin.where in ("", channel.name) else f" ({resolved.origin.where})"
            return f"{mask(channel.name)} is {mask(resolved.url)} by {resolved.rule}{place}"
    return f"{mask(channel.name)} is {mask(channel.url)}"


def _from_name(name: str, config: CondaConfig) -> Iterator[Resolved]:
    if name in config.custom_multichannels:
        for item in config.custom_multichannels[name]:
            yield Resolved(_checked(_item_url(item, config)), f"custom_multichannels: {name}", item.origin)
    elif name == "defaults":
        for item in config.default_channels:
            yield Resolved(_checked(_item_url(item, config)), "default_channels", item.origin)
    else:
        yield _custom(name, config) or Resolved(
            _join(config.channel_alias.value, name), "channel_alias", config.channel_alias.origin
        )


def _custom(name: str, config: CondaConfig) -> Resolved | None:
    """Return the address by ``custom_channels``: the longest configured head of the name decides."""
    places = _places(config)
    parts = name.split("/")
    for count in range(len(parts), 0, -1):
        place = places.get("/".join(parts[:count]))
        if place is not None:
            return replace(place, url=_join(place.url, name))
    return None


def _places(config: CondaConfig) -> dict[str, Resolved]:
    """Return channel name → what it is appended to: as configured, and as the multichannels imply.

    To conda the members of a multichannel have names of their own: ``pkgs/main`` is a member of ``defaults``.
    """
    lists = {"defaults": config.default_channels, **config.custom_multichannels}
    places = {}
    for multichannel, items in lists.items():
        for item in items:
            start, name = _split(_item_url(item, config), config)
            if name and "://" in item.value:
                places[name] = Resolved(start, f"its place among {multichannel}", item.origin)
            elif name:
                places[name] = Resolved(start, "channel_alias", config.channel_alias.origin)
    for name, base in config.custom_channels.items():
        places[name] = Resolved(_base_url(base, config), f"custom_channels: {name}", base.origin)
    return places


def _split(url: str, config: CondaConfig) -> tuple[str, str]:
    """Split the address of a multichannel's member into base and name: at the alias, else behind the host."""
    alias = config.channel_alias.value.rstrip("/")
    plain = strip(url)
    token = _TOKEN.search(url) if not url.startswith("file:") else None
    tail = f"/t/{token['token']}" if token else ""
    if plain.startswith(f"{strip(alias)}/"):
        return f"{_TOKEN.sub('', alias)}{tail}", plain[len(strip(alias)) + 1 :]
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{tail}", urlsplit(plain).path.strip("/")


def _from_url(url: str, config: CondaConfig) -> Resolved:
    """Return a URL as it is, with the credentials that the configuration has for that address."""
    plain = _checked(_without_subdir(url.rstrip("/")))
    moved = _moved(plain, config)
    if moved is not None:
        return moved
    for base, origin in _credentialed(config):
        head = strip(base).rstrip("/")
        if plain == head or plain.startswith(f"{head}/"):
            return Resolved(_join(base, plain[len(head) + 1 :]), "its URL, with the configured credentials", origin)
    return Resolved(plain, "its URL", Origin(""))


def _with_token(resolved: Resolved, config: CondaConfig) -> Resolved:
    """Return an address with the token of its server, unless it has one."""
    if resolved.url.startswith("file:") or _TOKEN.search(resolved.url):
        return resolved
    for server, token in config.anaconda_tokens.items():
        if _below(server, resolved.url) is not None:
            base, name = _split(resolved.url, config)
            return replace(resolved, url=_join(f"{base}/t/{token.value}", name))
    return resolved


def _checked(url: str) -> str:
    match = _SCHEME.match(url)
    if match is None or match["scheme"].lower() not in _SCHEMES:
        raise InputError(f"{mask(url)!r} is no channel URL", hint=f"use one of {', '.join(_SCHEMES)}")
    if not url.isprintable() or any(character.isspace() for character in url):
        raise InputError(f"channel {mask(url)!a} holds blanks or characters that cannot be shown")
    return url


def _moved(url: str, config: CondaConfig) -> Resolved | None:
    """Return where an address of former times is now, by the two ``migrated_`` settings."""
    former = [(name, base) for name, base in config.migrated_custom_channels.items() if "://" in base.value]
    for name, base in sorted(former, key=lambda entry: len(entry[0]), reverse=True):
        rest = _below(f"{base.value.rstrip('/')}/{name}", url)
        if rest is not None:
            today = f"{name}/{rest}".rstrip("/")
            found = _custom(today, config) or Resolved(_join(config.channel_alias.value, today), "", base.origin)
            return Resolved(found.url, f"migrated_custom_channels: {name}", base.origin)
    for alias in config.migrated_channel_aliases:
        rest = _below(alias.value, url)
        if rest:
            return Resolved(_join(config.channel_alias.value, rest), "migrated_channel_aliases", alias.origin)
    return None


def _below(head: str, url: str) -> str | None:
    """Return what follows a head of an address, whatever the scheme and credentials; None where it is another."""
    place, start = (_SCHEME.sub("", strip(text).rstrip("/"), count=1) for text in (url, head))
    return place[len(start) + 1 :] if place == start or place.startswith(f"{start}/") else None


def _credentialed(config: CondaConfig) -> Iterator[tuple[str, Origin]]:
    for name, place in _places(config).items():
        url = _join(place.url, name)
        if strip(url) != url:
            yield url, place.origin
    alias = config.channel_alias
    if strip(alias.value) != alias.value:
        yield alias.value, alias.origin


def _item_url(item: Sourced, config: CondaConfig) -> str:
    """Return the address of an item of a multichannel: a URL, a path, or a name below the alias.

    conda does not look at ``custom_channels`` here either.
    """
    if _SCHEME.match(item.value):
        return _without_subdir(item.value.rstrip("/"))
    if _PATH.match(item.value):
        return _path_url(item.value)
    return _join(config.channel_alias.value, item.value.strip("/"))


def _base_url(base: Sourced, config: CondaConfig) -> str:
    if _SCHEME.match(base.value):
        return base.value
    return _path_url(base.value) if _PATH.match(base.value) else config.channel_alias.value


def _join(base: str, name: str) -> str:
    """Append a name; a token of the base moves to just before it, where conda's servers expect it."""
    base = base.rstrip("/")
    token = _TOKEN.search(base)
    if token is not None:
        base = f"{base[: token.start()]}{base[token.end() :]}/t/{token['token']}"
    return f"{base}/{name}" if name else base


def _path_url(text: str) -> str:
    path = os.path.abspath(Path(text).expanduser() if text.startswith("~") else text)  # noqa: PTH100 - links stay
    return f"file://{quote(_without_subdir(path))}"


def _identity(url: str) -> str:
    """Return the address without its secrets; a path has none, whatever its folders are called."""
    return url if url.startswith("file:") else strip(url)


def _without_subdir(text: str) -> str:
    return _SUBDIR.sub("", text)


def _check_allowed(found: dict[str, Channel], config: CondaConfig) -> None:
    denied = _addresses(config.denylist_channels, config)
    allowed = _addresses(config.allowlist_channels, config)
    for url, channel in found.items():
        if url in denied:
            raise InputError(
                f"channel {mask(channel.name)} ({url}) is forbidden by denylist_channels", origins=[denied[url]]
            )
        if allowed and url not in allowed:
            origin = next(iter(allowed.values()))
            raise InputError(
                f"channel {mask(channel.name)} ({url}) is not among allowlist_channels",
                hint=f"{origin.where} allows {', '.join(sorted(allowed))}",
                origins=[origin],
            )


def _addresses(items: Iterable[Sourced], config: CondaConfig) -> dict[str, Origin]:
    return {_identity(resolved.url): item.origin for item in items for resolved in resolve(item.value, config)}
