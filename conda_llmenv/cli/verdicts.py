"""Verdicts of plan checks as text and as JSON."""

from __future__ import annotations

from typing import Any

from conda_llmenv.cli.console import origin_json
from conda_llmenv.model import Change, Status, Verdict

MARKS = {Status.PASS: "✓", Status.WARN: "!", Status.FAIL: "✗", Status.SKIP: "-"}


def verdict_lines(verdict: Verdict) -> list[str]:
    """Return what stands below the sentence of a failed or warning verdict: facts, why, fix."""
    lines = [f"  {line}" for line in verdict.detail]
    if not lines:
        lines = [f"  {origin.where}   {origin.label}" for origin in verdict.origins if origin.line is not None]
    if verdict.why:
        first, *rest = verdict.why.splitlines()
        lines += [f"  why   {first}", *(f"        {line}" for line in rest)]
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
    where = f"{change.origin.where}   " if change.origin else ""
    if change.kind == "channels":
        return f"{where}channels: [{', '.join(change.new)}]"
    if change.kind == "drop":
        return f"{where}remove {change.name}"
    return f"{where}{', '.join(change.new)}"
