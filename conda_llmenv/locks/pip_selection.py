"""Markers of a ``pylock.toml`` that pick by extras and dependency groups: settled as an installer does by default.

The standard ("pylock.toml Specification", Installation) says: no extras, and the groups in ``default-groups``. What is
left of a marker is about the platform and Python, and stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from packaging.markers import InvalidMarker, Marker
from packaging.utils import canonicalize_name

from conda_llmenv.compose.problems import Unreadable

_PICK = re.compile(
    r"(?P<quote>['\"])(?P<name>[^'\"]*)(?P=quote)\s+(?P<absent>not\s+)?in\s+(?P<set>extras|dependency_groups)\b"
)
_TRUE, _FALSE = "python_version >= '0'", "python_version < '0'"
_PICKED = (_TRUE, _FALSE)
_AND, _BRANCHES = re.compile(r"\band\b"), re.compile(r"\bor\b|[()]")
_JOINTS = re.compile(r"\band\b|\bor\b|[()\s]")


def settled(marker: str, default_groups: Collection[str]) -> str | None:
    """Return a marker without extras and groups: empty where it always holds then, None where it never does.

    Raises:
        Unreadable: it is no marker.
    """
    groups = {canonicalize_name(group) for group in default_groups}

    def answer(match: re.Match[str]) -> str:
        """Return what stands for a question about a group: true or false, by the default groups."""
        picked = match["set"] == "dependency_groups" and canonicalize_name(match["name"]) in groups
        return _PICKED[picked is bool(match["absent"])]

    text = _PICK.sub(answer, marker)
    try:
        parsed = Marker(text)
    except InvalidMarker as error:
        raise Unreadable(f"{marker[:80]!r} is no marker") from error
    if text == marker:
        return str(parsed)
    if not _JOINTS.sub("", text.replace(_TRUE, "").replace(_FALSE, "")):
        return "" if parsed.evaluate() else None
    return _shorter(text) if not _BRANCHES.search(text) else str(parsed)


def _shorter(text: str) -> str | None:
    """Return what is left of conditions that all have to hold; None where one of them never does."""
    parts = [part.strip() for part in _AND.split(text)]
    return None if _FALSE in parts else str(Marker(" and ".join(part for part in parts if part != _TRUE)))
