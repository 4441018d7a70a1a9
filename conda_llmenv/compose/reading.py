"""What reading one file shares: its origins, its reasons, its mistakes, and checked access to its values."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from conda_llmenv.compose.problems import Problems, Unreadable
from conda_llmenv.compose.yamltree import Document, Mapping, Node, Scalar, Sequence
from conda_llmenv.model import Origin, Source, Sourced
from conda_llmenv.redact import has_placeholder

Read = Callable[[Path], bytes]
"""Returns the bytes of a file, or raises OSError."""
Exists = Callable[[Path], bool]
"""Tells whether a file or folder is there."""


@dataclass
class Reading:
    """One file while it is read.

    Attributes:
        source: the file.
        document: its tree.
        read, exists: the only ways to look at other files.
        problems: the mistakes found so far.
    """

    source: Source
    document: Document
    read: Read
    exists: Exists
    problems: Problems = field(default_factory=Problems)

    def origin(self, line: int | None) -> Origin:
        """Return the origin of a line of this file."""
        return Origin(self.source.display, line, self.source.layer, self.source.detail)

    def sourced(self, scalar: Scalar, value: str | None = None) -> Sourced:
        """Return a value with its line and the comment behind it."""
        text = scalar.value.strip() if value is None else value
        return Sourced(text, self.origin(scalar.line), self.document.comment(scalar.line))

    def problem(self, node: Node, text: str, *, hint: str = "") -> None:
        """Note a mistake at a value."""
        self.problems.add(self.origin(node.line), text, column=node.column, hint=hint)

    def noted(self, node: Node, error: Unreadable) -> None:
        """Note what a reader of text said about a value."""
        self.problem(node, error.text, hint=error.hint)

    def mapping(self, node: Node, what: str) -> Iterator[tuple[str, Scalar, Node]]:
        """Yield the pairs of a mapping; anything else is a mistake. Nothing at all is an empty mapping."""
        if isinstance(node, Mapping):
            yield from ((name, key, value) for name, (key, value) in node.items.items())
        elif not is_null(node):
            self.problem(node, f"{what} must be a mapping", hint=f"write it as `{what}: {{name: value}}`")

    def items(self, node: Node, what: str) -> Iterator[Node]:
        """Yield the items of a list; anything else is a mistake. Nothing at all is an empty list."""
        if isinstance(node, Sequence):
            yield from node.items
        elif not is_null(node):
            self.problem(node, f"{what} must be a list", hint=f"write it as `{what}: [one, two]`")

    def text(self, node: Node, what: str) -> Scalar | None:
        """Return a non-empty single value, or None with the mistake noted."""
        stripped = node.value.strip() if isinstance(node, Scalar) and not node.is_null else ""
        if not isinstance(node, Scalar) or not stripped:
            self.problem(node, f"{what} must be one value")
            return None
        if "\n" in stripped:
            self.problem(node, f"{what} must be one line")
            return None
        if has_placeholder(node.value):
            self.problem(
                node,
                f"{what} holds a placeholder instead of a token",
                hint="write an environment variable such as ${TOKEN} in its place, or the real address",
            )
            return None
        return node

    def texts(self, node: Node, what: str) -> tuple[Sourced, ...]:
        """Return the items of a list of single values, with origins."""
        scalars = (self.text(item, f"an entry of {what}") for item in self.items(node, what))
        return tuple(self.sourced(scalar) for scalar in scalars if scalar is not None)


def is_null(node: Node) -> bool:
    """Return whether a value is empty or ``null``."""
    return isinstance(node, Scalar) and node.is_null


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest known word, or lists them all."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(f"`{name}`" for name in close) + "?"
    return "known: " + ", ".join(names) if names else ""
