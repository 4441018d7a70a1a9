"""The settings of conda that matter here, each with the file and line it came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import Notice, Origin, Sourced

DEFAULT_ALIAS = "https://conda.anaconda.org"
DEFAULT_CHANNELS = ("https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r")
"""conda's own meaning of ``defaults`` on Linux and macOS."""

BUILT_IN = Origin("conda's own default")

PLUGIN = "plugins."
"""What our own settings stand below in a file, and before their names in ``sources``."""


class LlmenvSettings(Struct, frozen=True):
    """Our own settings: ``plugins:`` in .condarc, or ``CONDA_PLUGINS_*``.

    Attributes:
        engine: ``llmenv_engine``: ``auto`` or an engine's name.
        installer: ``llmenv_installer``: ``auto``, ``uv`` or ``pip``.
        envs_path: ``llmenv_envs_path``: folders with fragments and ``tiers/``; ``recipes/`` stands beside each.
        default_tier: ``llmenv_default_tier``: the tier where nobody names one; empty for none.
        history: ``llmenv_history``: the folder of reports, which a team may share; None for the person's own.
        origins: where each setting that is not at its default was set, by its full name (``llmenv_engine``).
    """

    engine: str = "auto"
    installer: str = "auto"
    envs_path: tuple[Path, ...] = ()
    default_tier: str = ""
    history: Path | None = None
    origins: Mapping[str, Origin] = {}


def _custom_channels() -> dict[str, Sourced]:
    return {"pkgs/pro": Sourced("https://repo.anaconda.com", BUILT_IN)}


class CondaConfig(Struct, frozen=True):
    """A merged configuration; names are conda's.

    Attributes:
        channels: what is used besides the channels that fragments list; empty where nobody configured any.
        default_channels: what the name ``defaults`` stands for.
        channel_alias: what a bare channel name is appended to.
        custom_channels: first part of a channel name → the address it is appended to.
        custom_multichannels: a name that stands for several channels.
        migrated_channel_aliases: addresses that stand for the alias of today.
        migrated_custom_channels: a channel name → an address below which it once was.
        allowlist_channels, denylist_channels: channels an administrator allows (if any are named) or forbids.
        channel_priority: ``strict``, ``flexible``, ``disabled``, or None where it is not configured.
        ssl_verify: True, False, ``truststore``, or the path of a certificate bundle.
        proxy_servers: scheme, or scheme and host → proxy URL, which may hold credentials.
        client_ssl_cert, client_ssl_cert_key: paths of a client certificate and its key.
        remote_connect_timeout_secs, remote_read_timeout_secs: seconds.
        override_virtual_packages: virtual package, without its underscores → version to assume.
        envs_dirs: folders of named environments, in search order; conda's default ones last.
        pkgs_dirs: package caches in order of preference.
        root_prefix: the conda installation, None without one.
        add_anaconda_token: whether tokens of `anaconda login` are used.
        anaconda_tokens: the address of a server → the token of its channels.
        conda_settings: settings that are configured and that only conda knows how to honour → where.
        llmenv: our own settings.
        files: the configuration files that were read, least important first.
        sources: where each setting that is not at its default was last set.
        notices: files that could not be read.
    """

    channels: tuple[Sourced, ...] = ()
    default_channels: tuple[Sourced, ...] = tuple(Sourced(url, BUILT_IN) for url in DEFAULT_CHANNELS)
    channel_alias: Sourced = Sourced(DEFAULT_ALIAS, BUILT_IN)
    custom_channels: Mapping[str, Sourced] = field(default_factory=_custom_channels)
    custom_multichannels: Mapping[str, tuple[Sourced, ...]] = {}
    migrated_channel_aliases: tuple[Sourced, ...] = ()
    migrated_custom_channels: Mapping[str, Sourced] = {}
    allowlist_channels: tuple[Sourced, ...] = ()
    denylist_channels: tuple[Sourced, ...] = ()
    channel_priority: str | None = None
    offline: bool = False
    register_envs: bool = True
    ssl_verify: bool | str = True
    proxy_servers: Mapping[str, str] = {}
    client_ssl_cert: str | None = None
    client_ssl_cert_key: str | None = None
    remote_connect_timeout_secs: float = 9.15
    remote_read_timeout_secs: float = 60.0
    remote_max_retries: int = 3
    override_virtual_packages: Mapping[str, str] = {}
    envs_dirs: tuple[Path, ...] = ()
    pkgs_dirs: tuple[Path, ...] = ()
    root_prefix: Path | None = None
    add_anaconda_token: bool = True
    anaconda_tokens: Mapping[str, Sourced] = {}
    conda_settings: Mapping[str, Origin] = {}
    llmenv: LlmenvSettings = LlmenvSettings()
    files: tuple[Path, ...] = ()
    sources: Mapping[str, Origin] = {}
    notices: tuple[Notice, ...] = ()

    @property
    def conda_only(self) -> tuple[str, ...]:
        """Return what is configured and only conda itself can honour, each with its place; empty for nothing."""
        found = dict(self.conda_settings)
        if self._has_many_proxies():
            found["proxy_servers"] = self.sources.get("proxy_servers", BUILT_IN)
        return tuple(f"{key} ({origin.where})" for key, origin in found.items())

    def _has_many_proxies(self) -> bool:
        """Return whether hosts of one scheme have different proxies; others than conda know one a scheme."""
        kinds = ("http", "https")
        found = {
            kind: {url for key, url in self.proxy_servers.items() if url and key.partition("://")[0] in {kind, "all"}}
            for kind in kinds
        }
        by_host = any("://" in key for key in self.proxy_servers)
        return by_host and any(len(urls) > 1 for urls in found.values())

    def package_cache(self) -> Path:
        """Return the first package cache that can be written, or made.

        Raises:
            PrefixError: none can.
        """
        for folder in self.pkgs_dirs:
            existing = next((place for place in (folder, *folder.parents) if place.exists()), None)
            if existing is not None and existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
                return folder
        raise PrefixError(
            f"no package cache can be written: {', '.join(map(str, self.pkgs_dirs)) or 'none is configured'}",
            hint="set pkgs_dirs in ~/.condarc, or CONDA_PKGS_DIRS, to a folder you may write to",
        )
