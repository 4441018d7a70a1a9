"""conda's rules for merging one setting from several sources; pure.

Sources come in search order, the most important last. ``#!final`` behind a key or value stops later sources from
changing it; ``#!top`` and ``#!bottom`` move an item of a list to either end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from conda_llmenv.model import Origin

FLAGS = ("final", "top", "bottom")


@dataclass(frozen=True)
class Item:
    """One value as text, or None for YAML's null; ``flag`` is one of :data:`FLAGS` or empty."""

    value: str | None
    origin: Origin = field(compare=False)
    flag: str = field(default="", compare=False)


Value = Item | tuple["Value", ...] | Mapping[str, "Value"]


@dataclass(frozen=True)
class Setting:
    """What one source says about one key."""

    value: Value
    origin: Origin
    flag: str = ""


def merge_single(settings: Sequence[Setting]) -> Item | None:
    """Return the value that counts: the first final one, else the last; None where nobody sets it."""
    relevant = [setting.value for setting in _until_final(settings) if isinstance(setting.value, Item)]
    return relevant[-1] if relevant else None


def merge_list(settings: Sequence[Setting]) -> tuple[Item, ...]:
    """Return the items of all sources, those of the most important source first, each once."""
    lists = [_items(setting.value) for setting in _until_final(settings)]
    top = _flagged(lists, "top")
    bottom = _flagged(reversed(lists), "bottom")
    ordered = _unique(chain(top, chain.from_iterable(reversed(lists))))
    return tuple(reversed(_unique(chain(reversed(bottom), reversed(ordered)))))


def deciding(settings: Sequence[Setting]) -> Setting:
    """Return the setting that decides: the first final one, else the last."""
    return _until_final(settings)[-1]


def merge_map(settings: Sequence[Setting]) -> dict[str, Value]:
    """Return the entries of all sources; the most important source wins, unless an earlier value is final."""
    maps = [setting.value for setting in _until_final(settings) if isinstance(setting.value, Mapping)]
    merged: dict[str, Value] = {}
    for entries in maps:
        for key, value in entries.items():
            before = merged.get(key)
            if isinstance(before, Item) and before.flag == "final":
                continue
            merged[key] = _merge_nested(before, value)
    return merged


def _merge_nested(before: Value | None, value: Value) -> Value:
    if isinstance(before, tuple) and isinstance(value, tuple):
        nowhere = Origin("")
        return merge_list([Setting(before, nowhere), Setting(value, nowhere)])
    return value


def _until_final(settings: Sequence[Setting]) -> Sequence[Setting]:
    for index, setting in enumerate(settings):
        if setting.flag == "final":
            return settings[: index + 1]
    return settings


def _items(value: Value) -> tuple[Item, ...]:
    return tuple(item for item in value if isinstance(item, Item)) if isinstance(value, tuple) else ()


def _flagged(lists: Iterable[tuple[Item, ...]], flag: str) -> list[Item]:
    return [item for items in lists for item in items if item.flag == flag]


def _unique(items: Iterable[Item]) -> list[Item]:
    return list(dict.fromkeys(items))
