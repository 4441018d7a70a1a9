"""What a file given by its path is: a fragment, a tier or a recipe, told by the settings only that kind has."""

from __future__ import annotations

from conda_llmenv.compose.encoding import decode
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.compose.settings import KEYS
from conda_llmenv.compose.yamltree import Mapping, parse_tree
from conda_llmenv.model import Kind, Source

SETTINGS = "llmenv"


def kind_of(source: Source) -> Kind:
    """Return the kind whose reader takes every key below ``llmenv:``; a fragment where several do, or none."""
    fitting = set(Kind)
    for name in _settings(source):
        if name in KEYS:
            fitting &= KEYS[name].kinds
    if source.kind in fitting or not fitting:
        return source.kind
    return next(iter(fitting)) if len(fitting) == 1 else source.kind


def _settings(source: Source) -> tuple[str, ...]:
    """Return the keys below ``llmenv:``; a file that cannot be read has none, and its reader says what is wrong."""
    try:
        text = decode(source.content)
        root = parse_tree(text).root if SETTINGS in text else None  # most files have none, and need no second reading
    except Unreadable:
        return ()
    _key, node = root.items.get(SETTINGS, (None, None)) if isinstance(root, Mapping) else (None, None)
    return tuple(node.items) if isinstance(node, Mapping) else ()
