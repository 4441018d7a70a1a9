"""The configuration as a running conda holds it: its values, with the lines of the files they were written on.

conda's own context has merged files, ``CONDA_*`` variables, plugins and its command line, so inside conda it is what
counts. It does not know lines, so the files it read are read once more for these.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conda_llmenv.config.condarc import (
    NOT_HEEDED,
    ONLY_CONDA,
    OWN,
    Gathered,
    beyond_condarc,
    canonical,
    gather,
    llmenv_settings,
    not_heeded,
    set_where,
)
from conda_llmenv.config.merging import Item, Setting
from conda_llmenv.config.settings import DEFAULT_ALIAS, PLUGIN, CondaConfig, LlmenvSettings
from conda_llmenv.config.values import TYPES, Expander
from conda_llmenv.config.written import Written
from conda_llmenv.errors import FileFormatError, LlmenvError
from conda_llmenv.model import Origin, Sourced
from conda_llmenv.redact import mask

COMMAND_LINE = Origin("command line")

PLAIN = (
    "offline",
    "register_envs",
    "client_ssl_cert",
    "client_ssl_cert_key",
    "add_anaconda_token",
    "remote_connect_timeout_secs",
    "remote_read_timeout_secs",
    "remote_max_retries",
)
LISTS = ("default_channels", "allowlist_channels", "denylist_channels", "migrated_channel_aliases")
MAPS = ("custom_channels", "migrated_custom_channels")
"""Settings that conda's context has as values, lists and mappings of texts."""

_CONTEXT = "conda.base.context"
_NO_FILES = ("envvars", "cmd_line")
"""conda's names for sources that are no files."""


def in_conda() -> bool:
    """Return whether this process is conda's, or has loaded conda as a library."""
    return hasattr(sys.modules.get(_CONTEXT), "context")


def config_of_conda(environ: Mapping[str, str], home: Path) -> CondaConfig:
    """Return the configuration that conda holds in this process; see :func:`in_conda`.

    Raises:
        FileFormatError: conda finds a value that is not what it should be.
    """
    context = sys.modules[_CONTEXT].context
    expand = Expander(environ, home)
    found = gather(_files(context), environ, home, tolerant=True)
    _add_command_line(found, context)
    written = Written(found, expand)
    reader = _Reader(context, written, expand)
    try:
        values = reader.values()
    except LlmenvError:
        raise
    except Exception as error:
        raise _explained(error, found) from error
    notices = (*found.notices, *not_heeded(reader.set_of(NOT_HEEDED)))
    config = CondaConfig(**values, files=found.files, sources=written.where, notices=notices)
    return beyond_condarc(config, environ, home)


def _files(context: Any) -> list[Path]:
    return [Path(source) for source in context.raw_data if source not in _NO_FILES]


def _add_command_line(found: Gathered, context: Any) -> None:
    """Add what conda's own command line says, as the most important source."""
    for key, raw in context.raw_data.get("cmd_line", {}).items():
        value = raw._raw_value  # noqa: SLF001 - conda offers it only together with an object of the parameter
        name = canonical(key)
        if name in TYPES and value is not None:
            many = isinstance(value, (list, tuple))
            items = tuple(Item(str(text), COMMAND_LINE) for text in (value if many else [value]))
            found.merged.setdefault(name, []).append(Setting(items if many else items[0], COMMAND_LINE))


def _explained(error: Exception, found: Gathered) -> Exception:
    """Return conda's complaint about a setting as ours, with the place where it is written; another one as it is."""
    if not any(kind.__name__ == "ConfigurationError" for kind in type(error).__mro__):
        return error
    origin = set_where(found.merged).get(canonical(str(getattr(error, "parameter_name", "")).lstrip("_")))
    text = " ".join(str(error).split())
    return FileFormatError(mask(f"{origin.where}: {text}" if origin else text), origins=[origin] if origin else [])


class _Reader:
    """Reads conda's values; where conda offers objects made from a text, the text itself."""

    def __init__(self, context: Any, written: Written, expand: Expander) -> None:
        self._context = context
        self._written = written
        self._expand = expand

    def values(self) -> dict[str, Any]:
        """Return the fields of a configuration."""
        context, written = self._context, self._written
        alias = self._text("channel_alias") or DEFAULT_ALIAS
        return {
            **{key: getattr(context, key) for key in PLAIN},
            **{key: written.items(key, self._text(key)) for key in LISTS},
            **{key: written.entries(key, self._text(key)) for key in MAPS},
            "channels": written.items("channels", self._channels()),
            "channel_alias": Sourced(alias, written.single("channel_alias")),
            "custom_multichannels": written.lists("custom_multichannels", _given(self._text("custom_multichannels"))),
            "channel_priority": self._priority(),
            "ssl_verify": self._ssl_verify(),
            "proxy_servers": _given(context.proxy_servers),
            "override_virtual_packages": _given(context.override_virtual_packages),
            "envs_dirs": tuple(map(Path, context.envs_dirs)),
            "pkgs_dirs": tuple(map(Path, context.pkgs_dirs)),
            "root_prefix": Path(context.root_prefix),
            "conda_settings": self.set_of(ONLY_CONDA),
            "llmenv": self._llmenv(),
        }

    def set_of(self, keys: Iterable[str]) -> dict[str, Origin]:
        """Return those of some settings that say anything, with their places."""
        found = {}
        for key in keys:
            value = getattr(self._context, key, None)  # some came only with later versions
            if key == "channel_settings":
                value = [entry for entry in value or () if entry.get("auth")]
            if value:
                found[key] = self._written.fallback(key)
        return found

    def _text(self, key: str) -> Any:
        hidden = f"_{key}"
        return getattr(self._context, hidden if hidden in self._context.parameter_names else key)

    def _channels(self) -> tuple[str, ...]:
        """Return the channels; those that a list of an administrator forbids too, since who uses them is told."""
        try:
            return tuple(self._context.channels)
        except Exception as error:
            if type(error).__name__ in {"ChannelDenied", "ChannelNotAllowed"}:
                return tuple(self._text("channels"))
            raise

    def _priority(self) -> str | None:
        configured = "channel_priority" in self._written.where
        return str(self._context.channel_priority.value) if configured else None

    def _ssl_verify(self) -> bool | str:
        verify = self._context.ssl_verify
        return verify if isinstance(verify, bool) or verify == "truststore" else str(self._expand.path(verify))

    def _llmenv(self) -> LlmenvSettings:
        """Return our settings as conda has merged them where it knows them, else as the files say."""
        plugins = self._context.plugins
        values = {}
        for name in OWN:
            key = f"{PLUGIN}{name}"
            settings = self._written.settings(key)
            if settings and name in plugins.parameter_names:
                settings = [_as_setting(getattr(plugins, name), self._written.fallback(key))]
            value = TYPES[key](key, settings, self._expand) if settings else None
            if value is not None:
                values[key] = value
        return llmenv_settings(values, self._written.where)


def _as_setting(value: Any, origin: Origin) -> Setting:
    if isinstance(value, (list, tuple)):
        return Setting(tuple(Item(str(text), origin) for text in value), origin)
    return Setting(Item(None if value is None else str(value), origin), origin)


def _given(entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if value is not None}
