"""The settings of conda that matter here, each with the file and line it came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import Notice, Origin, Sourced

DEFAULT_ALIAS = "https://conda.anaconda.org"
DEFAULT_CHANNELS = ("https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r")
"""conda's own meaning of ``defaults`` on Linux and macOS."""

BUILT_IN = Origin("conda's own default")


class CondaConfig(Struct, frozen=True):
    """A merged configuration; names are conda's.

    Attributes:
        channels: what is used besides the channels that fragments list; empty where nobody configured any.
        default_channels: what the name ``defaults`` stands for.
        channel_alias: what a bare channel name is appended to.
        custom_channels: first part of a channel name → the address it is appended to.
        custom_multichannels: a name that stands for several channels.
        allowlist_channels, denylist_channels: channels an administrator allows (if any are named) or forbids.
        channel_priority: ``strict``, ``flexible``, ``disabled``, or None where it is not configured.
        ssl_verify: True, False, ``truststore``, or the path of a certificate bundle.
        proxy_servers: scheme, or scheme and host → proxy URL, which may hold credentials.
        client_ssl_cert, client_ssl_cert_key: paths of a client certificate and its key.
        remote_connect_timeout_secs, remote_read_timeout_secs: seconds.
        override_virtual_packages: virtual package → version to assume.
        envs_dirs: folders of named environments, in search order; conda's default ones last.
        pkgs_dirs: package caches in order of preference.
        root_prefix: the conda installation, None without one.
        files: the configuration files that were read, least important first.
        sources: where each setting that is not at its default was last set.
        notices: files that could not be read.
    """

    channels: tuple[Sourced, ...] = ()
    default_channels: tuple[Sourced, ...] = tuple(Sourced(url, BUILT_IN) for url in DEFAULT_CHANNELS)
    channel_alias: Sourced = Sourced(DEFAULT_ALIAS, BUILT_IN)
    custom_channels: Mapping[str, Sourced] = {}
    custom_multichannels: Mapping[str, tuple[Sourced, ...]] = {}
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
    files: tuple[Path, ...] = ()
    sources: Mapping[str, Origin] = {}
    notices: tuple[Notice, ...] = ()

    @property
    def conda_only(self) -> tuple[str, ...]:
        """Return what is configured and only conda itself can honour, each with its place; empty for nothing."""
        keys = [key for key in ("client_ssl_cert",) if getattr(self, key)]
        return tuple(f"{key} ({self.sources[key].where})" if key in self.sources else key for key in keys)

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
