"""Explanations of composed values as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from conda_llmenv.cli.console import origin_json
from conda_llmenv.compose import Explanation
from conda_llmenv.model import Sourced

VALUE_WIDTH = 30
PLACE_WIDTH = 34


def explanation_lines(found: Iterable[Explanation]) -> Iterator[str]:
    """Yield, for each value, what it is and one line for each layer that had a say."""
    for explanation in found:
        if explanation.kind == "shadowed":
            yield from (f"shadowed  {path} by {explanation.name}" for path in explanation.shadowed)
            continue
        yield from _entry(explanation)


def _entry(explanation: Explanation) -> Iterator[str]:
    parts = explanation.reasons
    if explanation.kind == "channel" and len(parts) > 1:
        first = parts[0].origin
        yield f"channel {explanation.name:<22} {first.where} … {len(parts)} fragments agree"
        return
    name = explanation.name if explanation.kind in ("package", "removed") else f"{explanation.kind} {explanation.name}"
    shown = f"{name}  removed" if explanation.kind == "removed" else _title(explanation, name)
    yield shown + ("   all of:" if len(parts) > 1 and explanation.kind in ("package", "pip") else "")
    yield from (_line("", part) for part in parts)
    taker = f"   by {explanation.taken_over.where}" if explanation.taken_over else ""
    yield from (_line("was ", part) + taker for part in explanation.replaced)


def _title(explanation: Explanation, name: str) -> str:
    value = explanation.value
    if not value or value == explanation.name:
        return name
    return value if value.startswith(explanation.name) else f"{name}  {value}"


def _line(mark: str, part: Sourced) -> str:
    place = f"{part.origin.where:<{PLACE_WIDTH}} {part.origin.label}"
    return f"  {mark}{part.value:<{VALUE_WIDTH}} {place}" + (f"   {part.why}" if part.why else "")


def explanation_json(found: Iterable[Explanation]) -> list[dict[str, Any]]:
    """Return explanations as they stand in a payload."""
    return [
        {
            "kind": explanation.kind,
            "name": explanation.name,
            "value": explanation.value,
            "reasons": [_part(part) for part in explanation.reasons],
            "replaced": [_part(part) for part in explanation.replaced],
            "taken_over": origin_json(explanation.taken_over) if explanation.taken_over else None,
            "shadowed": list(explanation.shadowed),
        }
        for explanation in found
    ]


def _part(part: Sourced) -> dict[str, Any]:
    return {"value": part.value, "why": part.why, "origin": origin_json(part.origin)}
