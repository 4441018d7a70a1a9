"""Verdicts of plan checks as text and as JSON."""

from __future__ import annotations

from typing import Any

from conda_llmenv.cli.console import origin_json, wrapped
from conda_llmenv.model import Change, Status, Verdict

MARKS = {Status.PASS: "✓", Status.WARN: "!", Status.FAIL: "✗", Status.SKIP: "-", Status.ERROR: "?"}


PACKAGED = ("envs/", "recipes/")
"""How the paths of packaged files start when they are shown; those of a project start with a dot."""


def verdict_lines(verdict: Verdict) -> list[str]:
    """Return what stands below the sentence of a failed or warning verdict: facts, why, fix."""
    lines = [f"  {line}" for line in verdict.detail]
    if not lines:
        lines = [f"  {origin.where}   {origin.label}" for origin in verdict.origins if origin.line is not None]
    if verdict.why:
        lines += wrapped(f"  why   {' '.join(verdict.why.split())}", " " * 8)
    for number, change in enumerate(verdict.changes):
        lines.append(f"  {'fix   ' if number == 0 else '      '}{_change(change)}")
    return lines


def chain_line(verdicts: tuple[Verdict, ...]) -> str:
    """Return the chain that was checked on one line, such as ``✓ card → driver → CUDA``."""
    worst: dict[str, Status] = {}
    order = [Status.PASS, Status.SKIP, Status.WARN, Status.FAIL]
    for verdict in verdicts:
        worst[verdict.link] = max(worst.get(verdict.link, Status.PASS), verdict.status, key=order.index)
    return " → ".join(f"{link} {MARKS[status]}" for link, status in worst.items())


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as it stands in a payload."""
    return {
        "check": verdict.check,
        "link": verdict.link,
        "status": verdict.status.value,
        "summary": verdict.summary,
        "detail": list(verdict.detail),
        "why": verdict.why,
        "origins": [origin_json(origin) for origin in verdict.origins],
        "changes": [
            {
                "kind": change.kind,
                "name": change.name,
                "new": list(change.new),
                "origin": origin_json(change.origin) if change.origin else None,
            }
            for change in verdict.changes
        ],
    }


def _change(change: Change) -> str:
    if change.origin and change.origin.file.startswith(PACKAGED) and change.name:
        return f"in a file of yours   {_own_words(change)}"
    where = f"{change.origin.where}   " if change.origin else ""
    if change.kind == "channels":
        return f"{where}channels: [{', '.join(change.new)}]"
    if change.kind == "drop":
        return f"{where}remove {change.name}"
    return f"{where}{', '.join(change.new)}"


def _own_words(change: Change) -> str:
    """Return how a layer of one's own takes over what a packaged file asks for."""
    if change.kind == "drop":
        return f"llmenv: {{remove: [{change.name}]}}"
    return f"dependencies: [{', '.join(repr(new) for new in change.new)}], llmenv: {{replace: [{change.name}]}}"
