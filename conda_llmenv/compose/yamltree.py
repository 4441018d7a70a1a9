"""YAML text → a tree that knows the line of every value, with caps and without any interpretation.

The tree is built from parse events, so the caps hold while reading and an explicit tag is seen before anything acts on
it. ruamel's C parser is used where it is installed (some thirty times faster), the pure one elsewhere; both give the
same tree.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from conda_llmenv.compose.problems import Unreadable

try:
    _CParser: Any = importlib.import_module("ruamel.yaml.cyaml").CParser
except ImportError:
    _CParser = None

MAX_DEPTH = 64
"""Deepest nesting read; a real file needs six."""
MAX_VALUES = 20_000
"""Most values read from one file."""
MAX_REPEATED = 10_000
"""Most values that aliases may repeat; what stops an alias bomb."""

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_COMMENT = re.compile(r"[\s,\]}]*(?<!\S)#+")
_TAB_INDENT = re.compile(r"[ ]*\t")


class Scalar(Struct):
    """One value as written; ``plain`` is True where it has no quotes. Lines and columns are 1-based."""

    value: str
    plain: bool
    line: int
    column: int

    @property
    def is_null(self) -> bool:
        """Whether YAML reads it as nothing."""
        return self.value in _NULLS and self.plain


class Sequence(Struct):
    """A list."""

    line: int
    column: int
    items: list[Any] = field(default_factory=list)
    weight: int = 1
    height: int = 1


class Mapping(Struct):
    """A mapping; each key with its own position, in the order written."""

    line: int
    column: int
    items: dict[str, tuple[Scalar, Any]] = field(default_factory=dict)
    weight: int = 1
    height: int = 1


Node = Scalar | Sequence | Mapping


class Document:
    """The tree of one file, with the comments at the ends of its lines."""

    def __init__(self, root: Node, lines: list[str], ends: dict[int, int]) -> None:
        self.root = root
        self._lines = lines
        self._ends = ends

    def comment(self, line: int) -> str:
        """Return the comment that follows the last value of a line (1-based), or an empty string."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        if "#" not in text:
            return ""
        match = _COMMENT.match(text, self._ends.get(line, 0))
        return text[match.end() :].strip() if match else ""


SECOND_LOOK = 200_000
"""Characters up to which a text that the C parser refuses is read again by the pure one, which is slow."""


def parse_tree(text: str, *, pure: bool = False, max_values: int = MAX_VALUES) -> Document:
    """Return the tree of a YAML text.

    Args:
        text: with line feeds only.
        pure: use the parser written in Python.
        max_values: most values read; a lockfile has more than what a person writes.

    Raises:
        Unreadable: not YAML, over a cap, or using tags, duplicate keys, or several documents.
    """
    lines = text.split("\n")
    builder = _Builder(max_values)
    take = builder.takers.get
    try:
        for event in _events(text, pure=pure):
            taker = take(event.__class__)
            if taker is not None:
                taker(event)
    except YAMLError as error:
        if not pure and len(text) <= SECOND_LOOK:
            return parse_tree(
                text, pure=True, max_values=max_values
            )  # the C parser knows YAML 1.1 only: it refuses `[https://host/x]`
        raise _syntax_problem(error, lines) from error
    if builder.root is None:
        raise Unreadable("the file is empty", line=1, hint="write at least `dependencies: []`")
    return Document(builder.root, lines, builder.ends)


def _events(text: str, *, pure: bool) -> Iterator[Any]:
    if _CParser is None or pure:
        yield from YAML(typ="safe", pure=True).parse(text)
        return
    parser = _CParser(text)  # without YAML around it, which searches the disk for plug-ins every time
    while parser.check_event():
        yield parser.get_event()


def _syntax_problem(error: YAMLError, lines: list[str]) -> Unreadable:
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return Unreadable("not valid YAML", line=1)
    mark = error.problem_mark
    for number in range(min(mark.line + 1, len(lines)), 0, -1):
        tab = _TAB_INDENT.match(lines[number - 1])
        if tab:
            return Unreadable(
                "a tab indents this line; YAML allows spaces only", line=number, column=tab.end(), hint="use spaces"
            )
        if lines[number - 1].strip() and number <= mark.line:
            break
    reason = re.sub(r"\s+", " ", str(error.problem))
    return Unreadable(f"not valid YAML: {reason}", line=mark.line + 1, column=mark.column + 1)


class _Open(Struct):
    node: Sequence | Mapping
    anchor: str | None
    key: Scalar | None = None
    merged: bool = False


class _Builder:
    """Takes parse events one by one, each by the one of ``takers`` for its class, and keeps the caps."""

    def __init__(self, max_values: int) -> None:
        self._max_values = max_values
        self.root: Node | None = None
        self.ends: dict[int, int] = {}
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._documents = 0
        self._values = 0
        self._repeated = 0
        self.takers: dict[type, Callable[[Any], None]] = {
            ScalarEvent: self._scalar,
            SequenceStartEvent: self._sequence,
            MappingStartEvent: self._mapping,
            SequenceEndEvent: self._end,
            MappingEndEvent: self._end,
            AliasEvent: self._alias,
            DocumentStartEvent: self._document,
        }

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise Unreadable(
                "a second YAML document starts here", line=event.start_mark.line + 1, hint="one file, one document"
            )

    def _scalar(self, event: Any) -> None:
        start, end = event.start_mark, event.end_mark
        self._check(event)
        self.ends[end.line + 1] = end.column
        scalar = Scalar(event.value, event.implicit[0], start.line + 1, start.column + 1)
        if event.anchor:
            self._anchors[event.anchor] = scalar
        container = self._open[-1].node if self._open else None
        if container.__class__ is Sequence:  # most values of a file stand in a list
            container.items.append(scalar)
            container.weight += 1
        else:
            self._place(scalar)

    def _sequence(self, event: Any) -> None:
        self._begin(event, Sequence(event.start_mark.line + 1, event.start_mark.column + 1))

    def _mapping(self, event: Any) -> None:
        self._begin(event, Mapping(event.start_mark.line + 1, event.start_mark.column + 1))

    def _begin(self, event: Any, node: Sequence | Mapping) -> None:
        self._check(event)
        if len(self._open) >= MAX_DEPTH:
            raise Unreadable(f"nested deeper than {MAX_DEPTH} levels", line=node.line, column=node.column)
        self._open.append(_Open(node, event.anchor))

    def _end(self, event: Any) -> None:
        closed = self._open.pop()
        if closed.anchor:
            self._anchors[closed.anchor] = closed.node
        self._place(closed.node)

    def _alias(self, event: Any) -> None:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        node = self._anchors.get(event.anchor)
        if node is None:
            raise Unreadable(f"alias *{event.anchor} refers to nothing written above", line=line, column=column)
        self._repeated += _weight(node)
        if self._repeated > MAX_REPEATED or len(self._open) + _height(node) > MAX_DEPTH:
            raise Unreadable(f"aliases repeat more than {MAX_REPEATED} values", line=line, column=column)
        self._place(node)

    def _check(self, event: Any) -> None:
        self._values += 1
        if event.tag is not None:
            raise Unreadable(
                f"YAML tag {event.tag} is not allowed",
                line=event.start_mark.line + 1,
                column=event.start_mark.column + 1,
            )
        if self._values > self._max_values:
            raise Unreadable(f"more than {self._max_values} values", line=event.start_mark.line + 1)

    def _place(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        container = parent.node
        if isinstance(container, Sequence):
            container.items.append(node)
        elif parent.key is None:
            parent.key = _key(node)
            return
        else:
            key, parent.key = parent.key, None
            if isinstance(node, Scalar) and not node.value and node.plain:  # nothing stands where its key does
                node.line, node.column = key.line, key.column
            _put(parent, container, key, node)
        container.weight += _weight(node)
        container.height = max(container.height, _height(node) + 1)


def _weight(node: Node) -> int:
    return 1 if isinstance(node, Scalar) else node.weight


def _height(node: Node) -> int:
    return 0 if isinstance(node, Scalar) else node.height


def _key(node: Node) -> Scalar:
    if isinstance(node, Scalar):
        return node
    raise Unreadable("a key must be a plain word", line=node.line, column=node.column)


def _put(parent: _Open, mapping: Mapping, key: Scalar, value: Node) -> None:
    if key.plain and key.value == "<<":
        if parent.merged:
            raise _duplicate(key, key.line)
        parent.merged = True
        for name, (origin, merged) in _merge_pairs(key, value):
            _add(mapping, name, Scalar(origin.value, origin.plain, origin.line, origin.column), merged, key)
    else:
        _add(mapping, key.value, key, value, key)


def _add(mapping: Mapping, name: str, key: Scalar, value: Node, at: Scalar) -> None:
    if name in mapping.items:
        raise _duplicate(Scalar(name, at.plain, at.line, at.column), mapping.items[name][0].line)
    mapping.items[name] = (key, value)


def _merge_pairs(key: Scalar, value: Node) -> Iterator[tuple[str, tuple[Scalar, Node]]]:
    sources = value.items if isinstance(value, Sequence) else [value]
    for source in sources:
        if not isinstance(source, Mapping):
            raise Unreadable("the merge key `<<` takes mappings only", line=key.line, column=key.column)
        yield from source.items.items()


def _duplicate(key: Scalar, first: int) -> Unreadable:
    return Unreadable(
        f"key {key.value!r} is given twice (first in line {first})",
        line=key.line,
        column=key.column,
        hint="keep one of them",
    )
