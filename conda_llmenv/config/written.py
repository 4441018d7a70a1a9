"""Where the values of a merged configuration were written: what conda itself does not know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conda_llmenv.config.condarc import Gathered, set_where
from conda_llmenv.config.merging import Item, Setting, Value, merge_map, merge_single
from conda_llmenv.config.settings import BUILT_IN
from conda_llmenv.config.values import Expander
from conda_llmenv.model import Origin, Sourced


class Written:
    """Finds the place a value was written, by conda's rules for merging.

    Args:
        found: what the sources say.
        expand: fills in variables, since a value is looked up as it is after that.
    """

    def __init__(self, found: Gathered, expand: Expander) -> None:
        self._merged = found.merged
        self._expand = expand
        self.where = set_where(found.merged)

    def settings(self, key: str) -> list[Setting]:
        """Return what the sources say about a setting."""
        return self._merged.get(key, [])

    def fallback(self, key: str) -> Origin:
        """Return where a setting as a whole was set."""
        return self.where.get(key, BUILT_IN)

    def single(self, key: str) -> Origin:
        """Return the place of a setting with one value."""
        item = merge_single(self.settings(key))
        return item.origin if item is not None else self.fallback(key)

    def items(self, key: str, texts: Iterable[str]) -> tuple[Sourced, ...]:
        """Return the items of a list with their places."""
        values = [setting.value for setting in self.settings(key)]
        return self._sourced(texts, values, self.fallback(key))

    def entries(self, key: str, entries: Mapping[str, str]) -> dict[str, Sourced]:
        """Return the entries of a mapping with their places."""
        written = merge_map(self.settings(key))
        found = {}
        for name, text in entries.items():
            value = written.get(name)
            found[name.strip("/")] = Sourced(text, value.origin if isinstance(value, Item) else self.fallback(key))
        return found

    def lists(self, key: str, lists: Mapping[str, Iterable[str]]) -> dict[str, tuple[Sourced, ...]]:
        """Return the entries of a mapping of lists with the places of their items."""
        written = merge_map(self.settings(key))
        return {
            name: self._sourced(texts, [written[name]] if name in written else [], self.fallback(key))
            for name, texts in lists.items()
        }

    def _sourced(self, texts: Iterable[str], values: list[Value], fallback: Origin) -> tuple[Sourced, ...]:
        """Return texts with their places; of those written twice the most important source counts."""
        places: dict[str, Origin] = {}
        for value in reversed(values):
            for item in value if isinstance(value, tuple) else ():
                if isinstance(item, Item) and item.value:
                    places.setdefault(self._expand.text(item.value), item.origin)
        return tuple(Sourced(text, places.get(text, fallback)) for text in texts if text)
