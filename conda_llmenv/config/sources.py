"""Where conda looks for configuration, and what a file or the environment says: text with its place, untyped."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from conda_llmenv.compose.encoding import decode
from conda_llmenv.compose.problems import Problems, Unreadable
from conda_llmenv.compose.yamltree import Mapping as MappingNode
from conda_llmenv.compose.yamltree import Node, Scalar, parse_tree
from conda_llmenv.config.merging import Item, Setting, Value
from conda_llmenv.config.settings import PLUGIN
from conda_llmenv.model import Origin

SEARCH_PATH = (
    "{system}/etc/conda/.condarc",
    "{system}/etc/conda/condarc",
    "{system}/etc/conda/condarc.d",
    "{system}/var/lib/conda/.condarc",
    "{system}/var/lib/conda/condarc",
    "{system}/var/lib/conda/condarc.d",
    "{root}/.condarc",
    "{root}/condarc",
    "{root}/condarc.d",
    "{xdg}/conda/.condarc",
    "{xdg}/conda/condarc",
    "{xdg}/conda/condarc.d",
    "{home}/.config/conda/.condarc",
    "{home}/.config/conda/condarc",
    "{home}/.config/conda/condarc.d",
    "{home}/.conda/.condarc",
    "{home}/.conda/condarc",
    "{home}/.conda/condarc.d",
    "{home}/.condarc",
    "{prefix}/.condarc",
    "{prefix}/condarc",
    "{prefix}/condarc.d",
    "{condarc}",
)
"""conda's search path (conda/base/constants.py), least important first."""

PLUGINS = "plugins"
"""The mapping of a file that holds the settings of plugins; in a variable, what stands before their names."""

_NAMES = (".condarc", "condarc")
_SUFFIXES = (".yml", ".yaml")
_FLAG = re.compile(r"(?:^|\s)#\s*!(final|top|bottom)\s*$")
_NO_CONTENT = re.compile(r"(?m)^\s*(?:#.*|---\s*|\.\.\.\s*)?$")


class Places(Struct, frozen=True):
    """The folders that the search path starts from; None leaves out what starts there."""

    home: Path
    system: Path = Path("/")
    root: Path | None = None
    xdg: Path | None = None
    prefix: Path | None = None
    condarc: Path | None = None


def find_files(places: Places) -> tuple[Path, ...]:
    """Return the configuration files there are, least important first, each once."""
    found: dict[Path, None] = {}
    for template in SEARCH_PATH:
        start = template[1 : template.index("}")]
        folder: Path | None = getattr(places, start)
        if folder is not None:
            path = Path(f"{folder}{template[len(start) + 2 :]}")
            found.update(dict.fromkeys(_files_at(path)))
    return tuple(found)


def read_file(path: Path, display: str) -> dict[str, Setting]:
    """Return what a file sets.

    Raises:
        FileFormatError: it is no YAML mapping; the message starts with file and line.
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    try:
        text = decode(content)
        tree = _mapping(text)
    except Unreadable as problem:
        problems = Problems()
        problems.add(Origin(display, problem.line), problem.text, column=problem.column, hint=problem.hint)
        problems.raise_if_any()
        raise
    lines = text.split("\n")
    return {key: _setting(display, name, node, lines) for key, (name, node) in _entries(tree)}


def _entries(tree: MappingNode) -> Iterator[tuple[str, tuple[Scalar, Node]]]:
    """Yield the settings of a file; those of plugins by the names they have in ``sources``."""
    for key, (name, node) in tree.items.items():
        if key == PLUGINS and isinstance(node, MappingNode):
            yield from ((f"{PLUGIN}{inner}", entry) for inner, entry in node.items.items())
        else:
            yield key, (name, node)


def read_environ(environ: Mapping[str, str]) -> dict[str, Setting]:
    """Return what ``CONDA_*`` variables set, each as one text; lists are split where the key is known to be one."""
    settings = {}
    for name, text in environ.items():
        if name.startswith("CONDA_"):
            origin = Origin(name)
            value, important, _ = text.partition("!important")
            flag = "final" if important else ""
            key = name[len("CONDA_") :].lower()
            if key.startswith(f"{PLUGINS}_"):
                key = f"{PLUGIN}{key[len(PLUGINS) + 1 :]}"
            settings[key] = Setting(Item(value.strip(), origin), origin, flag)
    return settings


def _mapping(text: str) -> MappingNode:
    if not _NO_CONTENT.sub("", text).strip():
        return MappingNode(1, 1)
    root = parse_tree(text, pure=True).root  # the C parser refuses URLs inside brackets
    if not isinstance(root, MappingNode):
        raise Unreadable("not a mapping of settings", line=root.line, hint="write `key: value` lines")
    return root


def _files_at(path: Path) -> Iterator[Path]:
    if path.is_file():
        if path.name in _NAMES or path.suffix in _SUFFIXES:
            yield path
    elif path.is_dir():
        try:
            names = sorted(entry.name for entry in os.scandir(path) if entry.is_file())
        except OSError:
            return
        yield from (path / name for name in names if name.endswith(_SUFFIXES))


def _setting(display: str, name: Scalar, node: Node, lines: list[str]) -> Setting:
    return Setting(_value(display, node, lines), Origin(display, name.line), _flag(lines, name.line))


def _value(display: str, node: Node, lines: list[str]) -> Value:
    if isinstance(node, Scalar):
        value = None if node.is_null else node.value
        return Item(value, Origin(display, node.line), _flag(lines, node.line))
    if isinstance(node, MappingNode):
        return {key: _value(display, child, lines) for key, (_, child) in node.items.items()}
    return tuple(_value(display, child, lines) for child in node.items)


def _flag(lines: list[str], line: int) -> str:
    match = _FLAG.search(lines[line - 1]) if line <= len(lines) else None
    return match[1] if match else ""
