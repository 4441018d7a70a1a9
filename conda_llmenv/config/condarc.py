"""Load the configuration: find the files, merge each setting, give it its type, and say where it came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conda_llmenv.config.merging import Item, Setting
from conda_llmenv.config.settings import CondaConfig
from conda_llmenv.config.sources import Places, find_files, read_environ, read_file
from conda_llmenv.config.values import TYPES, Expander
from conda_llmenv.model import Notice

ALIASES = {
    "channel": "channels",
    "envs_path": "envs_dirs",
    "whitelist_channels": "allowlist_channels",
    "verify_ssl": "ssl_verify",
    "client_cert": "client_ssl_cert",
    "client_cert_key": "client_ssl_cert_key",
    "virtual_packages": "override_virtual_packages",
}
"""conda's other names for settings."""

LISTS = {
    "channels": ",",
    "default_channels": ",",
    "allowlist_channels": ",",
    "denylist_channels": ",",
    "envs_dirs": os.pathsep,
    "pkgs_dirs": ",",
}
"""Settings that are lists, with what separates their items in an environment variable."""

_Settings = dict[str, list[Setting]]


def load_config(
    environ: Mapping[str, str],
    home: Path,
    *,
    root_prefix: Path | None = None,
    target: Path | None = None,
    system: Path = Path("/"),
) -> CondaConfig:
    """Return the person's conda configuration.

    Args:
        environ: the environment; ``CONDA_*`` variables win over files.
        home: the home folder.
        root_prefix: the conda installation; by default the one that ``CONDA_ROOT`` or ``CONDA_EXE`` names, if any.
        target: the environment a command is about, whose own ``.condarc`` counts; by default the active one.
        system: what stands for ``/`` in the paths of system-wide files.

    Raises:
        FileFormatError: a file or a value is not what it should be; the message starts with file and line.
    """
    root = root_prefix or _installation(environ)
    places = Places(
        home=home,
        system=system,
        root=root,
        xdg=_folder(environ, "XDG_CONFIG_HOME"),
        prefix=target or _folder(environ, "CONDA_PREFIX"),
        condarc=_folder(environ, "CONDARC"),
    )
    merged: _Settings = {}
    notices, files = [], []
    for path in find_files(places):
        if os.access(path, os.R_OK):
            _collect(merged, read_file(path, _display(path, home)))
            files.append(path)
        else:
            notices.append(Notice("condarc-unreadable", f"{path} may not be read and is left out"))
    _collect(merged, {key: _from_environ(key, value) for key, value in read_environ(environ).items()})
    return _config(merged, environ, home, root, files=tuple(files), notices=tuple(notices))


def _config(
    merged: _Settings,
    environ: Mapping[str, str],
    home: Path,
    root: Path | None,
    *,
    files: tuple[Path, ...],
    notices: tuple[Notice, ...],
) -> CondaConfig:
    expand = Expander(environ, home)
    values: dict[str, Any] = {}
    for key, settings in merged.items():
        if key in TYPES:
            value = TYPES[key](key, settings, expand)
            if value is not None:
                values[key] = value
    values["envs_dirs"] = _envs_dirs(values.get("envs_dirs", ()), home, root)
    values["pkgs_dirs"] = values.get("pkgs_dirs") or _pkgs_dirs(home, root)
    sources = {key: settings[-1].origin for key, settings in merged.items() if key in TYPES}
    return CondaConfig(**values, root_prefix=root, files=files, sources=sources, notices=notices)


def _collect(merged: _Settings, settings: Mapping[str, Setting]) -> None:
    """Add one source; where it has a setting under two names, conda's main name counts."""
    for key, setting in settings.items():
        name = ALIASES.get(key, key)
        if name == key or name not in settings:
            merged.setdefault(name, []).append(setting)


def _from_environ(key: str, setting: Setting) -> Setting:
    """Return a variable's text as the list it stands for, where the key is one."""
    name = ALIASES.get(key, key)
    if name not in LISTS or not isinstance(setting.value, Item) or setting.value.value is None:
        return setting
    parts = (part.strip() for part in setting.value.value.split(LISTS[name]))
    return Setting(tuple(Item(part, setting.origin) for part in parts if part), setting.origin, setting.flag)


def _envs_dirs(configured: tuple[Path, ...], home: Path, root: Path | None) -> tuple[Path, ...]:
    """Return the folders of named environments; conda's fixed ones follow those that are configured."""
    fixed = [home / ".conda" / "envs"]
    if root is not None:
        fixed.insert(0 if os.access(root, os.W_OK) else 1, root / "envs")
    return tuple(dict.fromkeys((*configured, *fixed)))


def _pkgs_dirs(home: Path, root: Path | None) -> tuple[Path, ...]:
    own = home / ".conda" / "pkgs"
    return (own,) if root is None else (root / "pkgs", own)


def _installation(environ: Mapping[str, str]) -> Path | None:
    """Return the conda installation that a conda process or an activated shell names, if it is one."""
    named = [_folder(environ, "CONDA_ROOT"), _folder(environ, "_CONDA_ROOT")]
    program = _folder(environ, "CONDA_EXE")
    named.append(program.parent.parent if program else None)
    return next((root for root in named if root is not None and (root / "conda-meta").is_dir()), None)


def _folder(environ: Mapping[str, str], name: str) -> Path | None:
    text = environ.get(name)
    return Path(os.path.expanduser(text)) if text else None  # noqa: PTH111 - Path.expanduser fails on an unknown user


def _display(path: Path, home: Path) -> str:
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
