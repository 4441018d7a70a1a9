"""A YAML lockfile as a tree with checked access: a value that is not what it should be is noted at its line."""

from __future__ import annotations

from collections.abc import Iterator

from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.compose.reading import is_null
from conda_llmenv.compose.yamltree import Mapping, Node, Scalar, Sequence, parse_tree
from conda_llmenv.locks.entries import TOKEN_HINT, Entries

MAX_VALUES = 2_000_000
"""Most values read from one lockfile; several hundred packages for six platforms in ten environments need 200,000."""


class Fields:
    """The values of one mapping of a lockfile.

    Args:
        entries: where mistakes are noted.
        node: what stands in the file.
        what: how messages call it.
    """

    def __init__(self, entries: Entries, node: Node | None, what: str) -> None:
        self.line = node.line if node is not None else 1
        self._entries = entries
        self._what = what
        self._items = node.items if isinstance(node, Mapping) else {}
        if node is not None and not isinstance(node, Mapping):
            entries.problem(node.line, f"{what} must be a mapping")

    def __contains__(self, key: str) -> bool:
        """Return whether a key is there and not null."""
        return key in self._items and not is_null(self._items[key][1])

    def node(self, key: str) -> Node | None:
        """Return what stands under a key, or None where nothing does."""
        return self._items[key][1] if key in self else None

    def line_of(self, key: str) -> int:
        """Return the line of a key, or of the mapping."""
        return self._items[key][0].line if key in self._items else self.line

    def needed(self, key: str) -> str:
        """Return a single value that has to be there, else an empty string, with the mistake noted."""
        value = self.text(key)
        if value is None and key not in self:
            self._entries.problem(self.line, f"{self._what} has no `{key}`")
        return value or ""

    def text(self, key: str) -> str | None:
        """Return a single value, or None."""
        node = self.node(key)
        if node is not None and not isinstance(node, Scalar):
            self._entries.problem(node.line, f"`{key}` of {self._what} must be one value")
            return None
        return node.value if node is not None else None

    def fields(self, key: str) -> Fields:
        """Return the mapping under a key; nothing there is an empty one."""
        return Fields(self._entries, self.node(key), f"`{key}` of {self._what}")

    def items(self, key: str) -> Iterator[Node]:
        """Yield the items of the list under a key; nothing there is an empty one."""
        node = self.node(key)
        if isinstance(node, Sequence):
            yield from node.items
        elif node is not None:
            self._entries.problem(node.line, f"`{key}` of {self._what} must be a list")


def read_fields(text: str, entries: Entries) -> Fields:
    """Return the mapping that a YAML lockfile is.

    Raises:
        FileFormatError: it is not YAML, or another kind of YAML.
    """
    try:
        root = parse_tree(text.removeprefix("\ufeff").replace("\r\n", "\n"), max_values=MAX_VALUES).root
    except Unreadable as error:
        entries.unreadable(error)
        raise
    fields = Fields(entries, root, "the lockfile")
    entries.placeholders(text, TOKEN_HINT)
    entries.raise_if_any()
    return fields
