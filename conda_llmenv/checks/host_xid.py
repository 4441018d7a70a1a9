"""Judges the errors that the NVIDIA driver wrote to the kernel log: its Xid messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.host_driver import NO_DRIVER, has_driver
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status

FATAL = frozenset({48, 56, 57, 58, 62, 64, 65, 69, 73, 74, 79, 80, 81, 95, 119, 120})
"""Codes after which a card has to be reset or drained (NVIDIA's Xid catalogue; those that node health checks of large
clusters drain for)."""

OF_PROGRAMS = frozenset({13, 31, 43, 45, 109})
"""Codes that a faulty or killed program causes: no fault of the card."""

RECENT_SECONDS = 2 * 3600

_MEANS = {
    48: "uncorrectable memory error",
    62: "the card's controller halted",
    63: "a memory row or page was remapped",
    64: "a memory row or page could not be remapped",
    74: "NVLink error",
    79: "fallen off the bus",
    92: "many corrected memory errors",
    94: "contained memory error",
    95: "uncontained memory error",
    119: "the card's firmware does not answer",
    120: "error in the card's firmware",
}


def _xid(scene: Scene) -> Finding:
    seen = scene.values("xid")
    if not has_driver(scene, seen):
        return Finding(Status.SKIP, NO_DRIVER)
    if seen.get("unread"):
        return Finding(Status.SKIP, f"the kernel log cannot be read: {seen['unread']}", fix="sudo dmesg | grep -i xid")
    events: Sequence[Mapping[str, Any]] = seen.get("events") or ()
    fatal = [event for event in events if event["code"] in FATAL]
    recent = [event for event in fatal if event.get("age") is None or event["age"] <= RECENT_SECONDS]
    doubtful = [event for event in events if event["code"] not in FATAL | OF_PROGRAMS]
    detail = tuple(_event(event) for event in events)
    for status, found in ((Status.FAIL, recent), (Status.WARN, fatal), (Status.WARN, doubtful)):
        if found:
            codes = ", ".join(f"Xid {code}" for code in sorted({event["code"] for event in found}))
            return Finding(status, _worst(found), codes, "no error of a card", detail=detail)
    words = f"{len(events)} errors of programs, none of a card" if events else "no error of a card in the kernel log"
    return Finding(Status.PASS, words, str(len(events)), "no error of a card", detail=detail)


def _worst(events: Sequence[Mapping[str, Any]]) -> str:
    event = min(events, key=_age)
    means = _MEANS.get(event["code"])
    return f"card {event['bus']} had Xid {event['code']}{f' ({means})' if means else ''}{_ago(event)}"


def _event(event: Mapping[str, Any]) -> str:
    return f"{event['bus']} Xid {event['code']} ×{event['count']}{_ago(event)}: {event.get('text', '')}"


def _age(event: Mapping[str, Any]) -> float:
    age = event.get("age")
    return 0.0 if age is None else float(age)


def _ago(event: Mapping[str, Any]) -> str:
    age = event.get("age")
    if age is None or age < 60:  # noqa: PLR2004 - seconds of a minute
        return "" if age is None else ", just now"
    return f", {age / 3600:.0f} h ago" if age >= 3600 else f", {age / 60:.0f} min ago"  # noqa: PLR2004 - seconds of an hour


CHECKS = (
    Check(
        id="xid",
        title="the kernel log has no error of a card",
        group="host",
        level=Level.FULL,
        judge=_xid,
        fix="sudo nvidia-smi -r        (drain the node first; sudo reboot where that does not help)",
        probe="machine",
    ),
)
