"""One merged setting → its Python value; what does not fit is an error with the file and line that said it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from conda_llmenv.config.merging import Item, Setting, Value, merge_list, merge_map, merge_single
from conda_llmenv.errors import FileFormatError
from conda_llmenv.model import Origin, Sourced
from conda_llmenv.redact import mask

PRIORITIES = {"true": "flexible", "false": "disabled"}
"""conda's older spellings of ``channel_priority``."""

CHOICES = {
    "plugins.llmenv_engine": ("auto", "rattler", "conda", "libmamba"),
    "plugins.llmenv_installer": ("auto", "uv", "pip"),
}
"""Our own settings that are a word out of some."""

_TRUE = ("true", "yes", "on", "y", "1")
_FALSE = ("false", "no", "off", "n", "0", "none", "")
_VARIABLE = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")


class Expander:
    """Expands ``$VAR`` and ``~`` from the given environment, as conda does in paths and addresses."""

    def __init__(self, environ: Mapping[str, str], home: Path) -> None:
        self._environ = environ
        self._home = home

    def text(self, text: str) -> str:
        """Return the text with variables filled in; unknown ones stay."""
        return _VARIABLE.sub(lambda match: self._environ.get(match["plain"] or match["braced"], match[0]), text)

    def path(self, text: str) -> Path:
        """Return the absolute path that the text stands for."""
        text = self.text(text)
        if text == "~" or text.startswith("~/"):
            text = f"{self._home}{text[1:]}"
        return Path(os.path.abspath(os.path.expanduser(text)))  # noqa: PTH100, PTH111 - links must stay as written


def _single(key: str, settings: list[Setting]) -> Item | None:
    for setting in settings:
        if not isinstance(setting.value, Item):
            _wrong(setting.origin, key, "takes one value, not a list or mapping")
    return merge_single([setting for setting in settings if _given(setting.value)])


def _given(value: Value) -> bool:
    return not isinstance(value, Item) or value.value is not None


def _list(key: str, settings: list[Setting], expand: Expander) -> tuple[Sourced, ...]:
    present = [setting for setting in settings if _given(setting.value)]
    for setting in present:
        if not isinstance(setting.value, tuple):
            _wrong(setting.origin, key, "takes a list", hint=f"write `{key}: [first, second]`")
        if not all(isinstance(item, Item) for item in setting.value):
            _wrong(setting.origin, key, "takes a list of single values")
    return tuple(_sourced(item, expand) for item in merge_list(present) if item.value)


def _map(key: str, settings: list[Setting]) -> dict[str, Value]:
    present = [setting for setting in settings if _given(setting.value)]
    for setting in present:
        if not isinstance(setting.value, Mapping):
            _wrong(setting.origin, key, "takes a mapping", hint="set it in a .condarc file, with `name: value` lines")
    return merge_map(present)


def _sourced(item: Item, expand: Expander) -> Sourced:
    return Sourced(expand.text(item.value or ""), item.origin)


def _paths(key: str, settings: list[Setting], expand: Expander) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(expand.path(item.value) for item in _list(key, settings, expand)))


def _channel_map(key: str, settings: list[Setting], expand: Expander) -> dict[str, Sourced]:
    return {
        name.strip("/"): _sourced(_item(key, name, value, settings), expand)
        for name, value in _map(key, settings).items()
    }


def _multichannels(key: str, settings: list[Setting], expand: Expander) -> dict[str, tuple[Sourced, ...]]:
    found = {}
    for name, value in _map(key, settings).items():
        if isinstance(value, Item) and value.value is None:
            continue
        if not isinstance(value, tuple):
            _wrong(settings[-1].origin, f"{key}: {name}", "takes a list of channels")
        found[name] = tuple(_sourced(item, expand) for item in value if isinstance(item, Item) and item.value)
    return found


def _versions(key: str, settings: list[Setting], expand: Expander) -> dict[str, str]:
    return {name.removeprefix("__"): text for name, text in _text_map(key, settings, expand).items()}


def _text_map(key: str, settings: list[Setting], expand: Expander) -> dict[str, str]:
    items = {name: _item(key, name, value, settings) for name, value in _map(key, settings).items()}
    return {name: expand.text(item.value) for name, item in items.items() if item.value is not None}


def _item(key: str, name: str, value: Value, settings: list[Setting]) -> Item:
    if not isinstance(value, Item):
        _wrong(settings[-1].origin, f"{key}: {name}", "takes one value")
    return value


def _alias(key: str, settings: list[Setting], expand: Expander) -> Sourced | None:
    item = _single(key, settings)
    if item is None or not item.value:
        return None
    alias = _sourced(item, expand)
    if "://" not in alias.value:
        _wrong(item.origin, key, f"{alias.value} lacks a scheme", hint=f"write https://{alias.value}")
    return alias


def _priority(key: str, settings: list[Setting], expand: Expander) -> str | None:  # noqa: ARG001 - one signature for all
    item = _single(key, settings)
    if item is None or item.value is None:
        return None
    word = item.value.strip().lower()
    word = PRIORITIES.get(word, word)
    if word not in ("strict", "flexible", "disabled"):
        _wrong(item.origin, key, f"{item.value!r} is no channel priority", hint="use strict, flexible or disabled")
    return word


def _choice(key: str, settings: list[Setting], expand: Expander) -> str | None:  # noqa: ARG001 - one signature for all
    item = _single(key, settings)
    if item is None or not item.value:
        return None
    word = item.value.strip().lower()
    if word not in CHOICES[key]:
        _wrong(item.origin, key, f"{item.value!r} is none of its values", hint=f"use one of {', '.join(CHOICES[key])}")
    return word


def _word(key: str, settings: list[Setting], expand: Expander) -> str | None:
    item = _single(key, settings)
    return expand.text(item.value).strip() if item is not None and item.value else None


def _flag(key: str, settings: list[Setting], expand: Expander) -> bool | None:
    item = _single(key, settings)
    if item is None or item.value is None:
        return None
    word = expand.text(item.value).strip().lower()
    if word not in _TRUE + _FALSE:
        _wrong(item.origin, key, f"{item.value!r} is neither true nor false")
    return word in _TRUE


def _ssl_verify(key: str, settings: list[Setting], expand: Expander) -> bool | str | None:
    item = _single(key, settings)
    if item is None or item.value is None:
        return None
    text = expand.text(item.value).strip()
    if text.lower() in _TRUE + _FALSE:
        return text.lower() in _TRUE
    if text == "truststore":
        return text
    bundle = expand.path(text)
    if not bundle.exists():
        _wrong(item.origin, key, f"there is no certificate bundle {bundle}", hint="use true, truststore or a path")
    return str(bundle)


def _certificate(key: str, settings: list[Setting], expand: Expander) -> str | None:
    item = _single(key, settings)
    return str(expand.path(item.value)) if item is not None and item.value else None


def _folder(key: str, settings: list[Setting], expand: Expander) -> Path | None:
    item = _single(key, settings)
    return expand.path(item.value) if item is not None and item.value else None


def _seconds(key: str, settings: list[Setting], expand: Expander) -> float | None:
    item = _single(key, settings)
    if item is None or item.value is None:
        return None
    try:
        number = float(expand.text(item.value))
    except ValueError:
        _wrong(item.origin, key, f"{item.value!r} is no number")
    if not 0 <= number < float("inf"):
        _wrong(item.origin, key, f"{item.value!r} is no useful number")
    return number


def _count(key: str, settings: list[Setting], expand: Expander) -> int | None:
    number = _seconds(key, settings, expand)
    return None if number is None else int(number)


def _wrong(origin: Origin, key: str, text: str, hint: str = "") -> NoReturn:
    raise FileFormatError(mask(f"{origin.where}: {key}: {text}"), hint=hint, origins=[origin])


TYPES: Mapping[str, Callable[[str, list[Setting], Expander], Any]] = {
    "channels": _list,
    "default_channels": _list,
    "allowlist_channels": _list,
    "denylist_channels": _list,
    "envs_dirs": _paths,
    "pkgs_dirs": _paths,
    "custom_channels": _channel_map,
    "custom_multichannels": _multichannels,
    "proxy_servers": _text_map,
    "override_virtual_packages": _versions,
    "migrated_channel_aliases": _list,
    "migrated_custom_channels": _channel_map,
    "add_anaconda_token": _flag,
    "channel_alias": _alias,
    "channel_priority": _priority,
    "offline": _flag,
    "register_envs": _flag,
    "ssl_verify": _ssl_verify,
    "client_ssl_cert": _certificate,
    "client_ssl_cert_key": _certificate,
    "remote_connect_timeout_secs": _seconds,
    "remote_read_timeout_secs": _seconds,
    "remote_max_retries": _count,
    "plugins.llmenv_engine": _choice,
    "plugins.llmenv_installer": _choice,
    "plugins.llmenv_envs_path": _paths,
    "plugins.llmenv_default_tier": _word,
    "plugins.llmenv_history": _folder,
}
"""Every setting that is read, with what gives it its type."""
