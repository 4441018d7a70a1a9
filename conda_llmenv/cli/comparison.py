"""How two locks compare, as text and as JSON: the verdict, then every difference, then what nobody could compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conda_llmenv.locks.differences import Change, Comparison, Difference, Kind, Part
from conda_llmenv.locks.fields import strongest

TITLES = {
    Part.PLATFORM: "platform",
    Part.CONDA: "conda packages",
    Part.MOVED: "between conda and pip",
    Part.PIP: "pip packages",
    Part.CHANNELS: "channels, highest priority first",
    Part.NODEFAULTS: "configured channels",
    Part.INDEXES: "package indexes",
    Part.VARIABLES: "variables",
    Part.ASKED: "asked for",
}
LOUD = "the same build or version with another content: one of the two is not what it says"

_HASH_SHOWN = 12
_NAMES_SHOWN = 4
_TOGETHER = 2
"""From so many packages on that changed in nothing but the channel, and in the same way, one row tells of them all."""


def comparison_json(found: Comparison, labels: Sequence[str]) -> dict[str, Any]:
    """Return a comparison as it stands in a payload."""
    return {
        "equal": not found.differences,
        "a": labels[0],
        "b": labels[1],
        "compared": dict(found.packages),
        "not_compared": list(found.unsaid),
        "differences": [
            {
                "part": one.part.value,
                "kind": one.kind.value,
                "name": one.name,
                "loud": one.loud,
                "changes": [
                    {"field": change.field, "a": change.before, "b": change.after, "direction": change.direction}
                    for change in one.changes
                ],
            }
            for one in found.differences
        ],
    }


def comparison_lines(found: Comparison, labels: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a report."""
    yield _verdict(found)
    yield from (f"  {mark}  {label}" for mark, label in zip("AB", labels, strict=True))
    groups: dict[tuple[Part, bool], list[Difference]] = {}
    for one in found.differences:
        groups.setdefault((one.part, one.loud), []).append(one)
    for (part, loud), differences in groups.items():
        yield ""
        yield f"{TITLES[part]}, {LOUD}" if loud else TITLES[part]
        yield from _aligned(_rows(differences))
    if found.unsaid:
        yield ""
        yield f"not compared, as one side does not say: {'; '.join(found.unsaid)}"


def _verdict(found: Comparison) -> str:
    if not found.differences:
        return f"equal: {_packages(found)}" if found.packages else "equal"
    number = len(found.differences)
    counts = Counter(TITLES[one.part].partition(",")[0] for one in found.differences)
    parts = ", ".join(f"{count} in {title}" for title, count in counts.items())
    return f"{number} difference{'s' if number > 1 else ''}: {parts}"


def _packages(found: Comparison) -> str:
    counts = [f"{count} {name}" for name, count in found.packages.items()]
    return " and ".join(counts) + (" package" if len(counts) == 1 and counts[0].startswith("1 ") else " packages")


_Row = tuple[str, str, str]


def _aligned(rows: Iterable[_Row]) -> Iterator[str]:
    listed = list(rows)
    words, names = (max((len(row[column]) for row in listed), default=0) for column in (0, 1))
    for word, name, text in listed:
        yield f"  {word:<{words}}  {name:<{names}}  {text}".rstrip()


def _rows(differences: Iterable[Difference]) -> Iterator[_Row]:
    moved: dict[tuple[str, str], list[str]] = {}
    for one in differences:
        change = one.changes[0] if one.changes else None
        if one.part is Part.CONDA and len(one.changes) == 1 and change is not None and change.field == "channel":
            moved.setdefault((change.before, change.after), []).append(one.name)
        else:
            yield _row(one)
    for (before, after), names in moved.items():
        if len(names) < _TOGETHER:
            yield "channel", names[0], f"{before} -> {after}"
        else:
            shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
            yield "channel", f"{len(names)} packages", f"{before} -> {after}  ({shown})"


def _row(one: Difference) -> _Row:
    changes = {change.field: change for change in one.changes}
    if one.kind in {Kind.ADDED, Kind.REMOVED}:
        side = "after" if one.kind is Kind.ADDED else "before"
        return one.kind.value, one.name, _package(changes, side)
    if one.kind is Kind.MOVED:
        names = changes.get("name")
        name = f"{names.before} -> {names.after}" if names else one.name
        return (
            f"to {changes['installer'].after}",
            name,
            f"{_package(changes, 'before')} -> {_package(changes, 'after')}",
        )
    first = one.changes[0]
    if first.field == "version":
        return first.direction or "version", one.name, _both(first)
    if first.field == "value":
        return "changed", one.name, _both(first)
    return first.field, one.name, "  ".join(_both(change) for change in one.changes)


def _package(changes: dict[str, Change], side: str) -> str:
    """Return version, build and, where it is no index, origin of what is on one side only; a setting's value."""
    texts = {field: getattr(change, side) for field, change in changes.items()}
    origin = texts.get("origin", "")
    shown = (texts.get("value"), texts.get("version"), texts.get("build"), f"({origin})" if "/" in origin else "")
    return " ".join(text for text in shown if text)


def _both(change: Change) -> str:
    if change.field == "hash":
        return _hashes(change)
    return f"{change.before or '(empty)'} -> {change.after or '(empty)'}"


def _hashes(change: Change) -> str:
    """Return the start of the strongest hash that both sides have: enough to see that it is another."""
    sides = [dict(one.split(":", 1) for one in text.split()) for text in (change.before, change.after)]
    algorithm = strongest(sides[0].keys() & sides[1].keys())
    before, after = (side.get(algorithm, "none")[:_HASH_SHOWN] for side in sides)
    return f"{algorithm} {before} -> {after}"
