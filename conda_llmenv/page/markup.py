"""HTML elements built from text that nobody has to trust: what is not markup already is tamed and escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from conda_llmenv.page.taming import tamed

VOID = frozenset({"meta", "rect", "line", "path", "circle"})
"""Elements that hold nothing; those of SVG are closed by a slash."""


class Markup(str):
    """HTML that was built here, and so is not escaped again."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str) -> Markup:
    """Return an element with its children; ``class_`` is the attribute ``class``, and ``aria_label`` ``aria-label``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"' for key, value in attributes.items() if value
    )
    if name in VOID:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    """Return parts one after the other; plain text among them is escaped."""
    return Markup("".join(escaped(part) for part in parts))


def escaped(text: str) -> Markup:
    """Return text as HTML shows it literally, without what hides, deceives or is secret; markup as it is."""
    return text if isinstance(text, Markup) else Markup(html.escape(tamed(text)))
