"""Load the configuration: find the files, merge each setting, give it its type, and say where it came from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from conda_llmenv.config.merging import Item, Setting, deciding
from conda_llmenv.config.settings import PLUGIN, CondaConfig, LlmenvSettings
from conda_llmenv.config.sources import Places, find_files, read_environ, read_file
from conda_llmenv.config.tokens import anaconda_tokens
from conda_llmenv.config.values import TYPES, Expander
from conda_llmenv.errors import FileFormatError
from conda_llmenv.model import Notice, Origin

ALIASES = {
    "channel": "channels",
    "envs_path": "envs_dirs",
    "whitelist_channels": "allowlist_channels",
    "verify_ssl": "ssl_verify",
    "client_cert": "client_ssl_cert",
    "client_cert_key": "client_ssl_cert_key",
    "virtual_packages": "override_virtual_packages",
    "add_binstar_token": "add_anaconda_token",
    "cooldown": "exclude_newer",
    "cooldown_exclude": "exclude_newer_package",
    "disallow": "disallowed_packages",
}
"""conda's other names for settings."""

LISTS = {
    "channels": ",",
    "default_channels": ",",
    "allowlist_channels": ",",
    "denylist_channels": ",",
    "envs_dirs": os.pathsep,
    "pkgs_dirs": ",",
    "migrated_channel_aliases": ",",
    f"{PLUGIN}llmenv_envs_path": ",",
}
"""Settings that are lists, with what separates their items in an environment variable."""

ONLY_CONDA = ("client_ssl_cert", "channel_settings")
"""Settings that say how channels are reached and that only conda itself knows how to honour."""

NOT_HEEDED = ("pinned_packages", "disallowed_packages", "exclude_newer", "exclude_newer_package")
"""Settings that say what may be installed, which to us is said by fragments alone; a person is told."""

KNOWN = frozenset({*TYPES, *ONLY_CONDA, *NOT_HEEDED})

OWN = tuple(key.removeprefix(PLUGIN) for key in TYPES if key.startswith(PLUGIN))
"""Our own settings, by the names conda knows them under."""


@dataclass
class Gathered:
    """What all sources say: the settings by conda's main names, the least important source first."""

    merged: dict[str, list[Setting]] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    notices: tuple[Notice, ...] = ()


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
    found = gather(find_files(places), environ, home)
    return beyond_condarc(_config(found, Expander(environ, home), home, root), environ, home)


def gather(files: Iterable[Path], environ: Mapping[str, str], home: Path, *, tolerant: bool = False) -> Gathered:
    """Read the files and the environment, which is more important than any file.

    Args:
        files: least important first.
        environ: the environment.
        home: the home folder, to show paths.
        tolerant: leave out a file that is not what it should be.

    Raises:
        FileFormatError: a file is not what it should be.
    """
    found = Gathered()
    for path in files:
        if not os.access(path, os.R_OK):
            found.notices += (Notice("condarc-unreadable", f"{path} may not be read and is left out"),)
            continue
        try:
            _collect(found.merged, read_file(path, _display(path, home)))
        except FileFormatError:
            if not tolerant:
                raise
        found.files += (path,)
    _collect(found.merged, {key: _from_environ(key, value) for key, value in read_environ(environ).items()})
    return found


def canonical(key: str) -> str:
    """Return conda's main name for a setting."""
    return ALIASES.get(key, key)


def set_where(merged: Mapping[str, list[Setting]]) -> dict[str, Origin]:
    """Return where each known setting was set last, or finally."""
    return {key: deciding(settings).origin for key, settings in merged.items() if key in KNOWN}


def llmenv_settings(values: Mapping[str, Any], origins: Mapping[str, Origin]) -> LlmenvSettings:
    """Return our own settings from typed values and places, both by the full names (``plugins.llmenv_engine``)."""
    given = {key.removeprefix(f"{PLUGIN}llmenv_"): value for key, value in values.items() if key.startswith(PLUGIN)}
    places = {key.removeprefix(PLUGIN): origin for key, origin in origins.items() if key.startswith(PLUGIN)}
    return LlmenvSettings(**given, origins=places)


def beyond_condarc(config: CondaConfig, environ: Mapping[str, str], home: Path) -> CondaConfig:
    """Return the configuration with what conda takes from elsewhere: tokens of its servers, certificates."""
    if config.add_anaconda_token:
        config = replace(config, anaconda_tokens=anaconda_tokens(environ, home))
    return _with_bundle(config, environ)


def _with_bundle(config: CondaConfig, environ: Mapping[str, str]) -> CondaConfig:
    """Return the configuration with the bundle of authorities that ``requests``, and so conda, takes from variables."""
    name = next((name for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE") if environ.get(name)), None)
    if name is None or config.ssl_verify is not True:
        return config
    if not Path(environ[name]).exists():
        notice = Notice("ca-bundle", f"{name} names {environ[name]}, which is not there and is left out")
        return replace(config, notices=(*config.notices, notice))
    return replace(config, ssl_verify=environ[name], sources={**config.sources, "ssl_verify": Origin(name)})


def _config(found: Gathered, expand: Expander, home: Path, root: Path | None) -> CondaConfig:
    typed = {key: TYPES[key](key, settings, expand) for key, settings in found.merged.items() if key in TYPES}
    given = {key: value for key, value in typed.items() if value is not None}
    values = {key: value for key, value in given.items() if not key.startswith(PLUGIN)}
    values["envs_dirs"] = _envs_dirs(values.get("envs_dirs", ()), home, root)
    values["pkgs_dirs"] = values.get("pkgs_dirs") or _pkgs_dirs(home, root)
    origins = set_where(found.merged)
    return CondaConfig(
        **values,
        root_prefix=root,
        conda_settings={key: origins[key] for key in ONLY_CONDA if _is_set(key, found)},
        llmenv=llmenv_settings(given, origins),
        files=found.files,
        sources=origins,
        notices=(*found.notices, *not_heeded({key: origins[key] for key in NOT_HEEDED if _is_set(key, found)})),
    )


def not_heeded(settings: Mapping[str, Origin]) -> tuple[Notice, ...]:
    """Return what a person should know of settings that are made and say nothing to us."""
    hint = "write it into a fragment (dependencies, constraints, llmenv: exclude_newer)"
    return tuple(
        Notice("setting-not-heeded", f"{key} ({origin.where}) says nothing to llmenv", (origin,), hint)
        for key, origin in settings.items()
    )


def _is_set(key: str, found: Gathered) -> bool:
    """Return whether any source gives more than nothing; of ``channel_settings`` only ``auth`` counts."""
    values = [setting.value for setting in found.merged.get(key, ())]
    if key == "channel_settings":
        entries = [entry for value in values if isinstance(value, tuple) for entry in value]
        return any(isinstance(entry, Mapping) and "auth" in entry for entry in entries)
    return any(value.value not in {None, "", "false"} if isinstance(value, Item) else bool(value) for value in values)


def _collect(merged: dict[str, list[Setting]], settings: Mapping[str, Setting]) -> None:
    """Add one source; where it has a setting under two names, conda's main name counts."""
    for key, setting in settings.items():
        name = canonical(key)
        if name == key or name not in settings:
            merged.setdefault(name, []).append(setting)


def _from_environ(key: str, setting: Setting) -> Setting:
    """Return a variable's text as the list it stands for, where the key is one."""
    name = canonical(key)
    if name not in LISTS or not isinstance(setting.value, Item) or setting.value.value is None:
        return setting
    parts = (part.strip() for part in setting.value.value.split(LISTS[name]))
    return Setting(tuple(Item(part, setting.origin) for part in parts if part), setting.origin, setting.flag)


def _envs_dirs(configured: tuple[Path, ...], home: Path, root: Path | None) -> tuple[Path, ...]:
    """Return the folders of named environments; conda's fixed ones follow those that are configured."""
    fixed = [home / ".conda" / "envs"]
    if root is not None:
        writable = os.access(root / "conda-meta" / "history", os.W_OK)  # conda's own test of its installation
        fixed.insert(0 if writable else 1, root / "envs")
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
