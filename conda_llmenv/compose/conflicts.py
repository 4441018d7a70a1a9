"""Contradictions between layers, all of them in one report."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from conda_llmenv.errors import ConflictError
from conda_llmenv.model import Layer, Origin
from conda_llmenv.redact import mask

SHOWN = 20
"""Lines shown of one contradiction; what many files repeat is summed up."""


class Conflict(Struct, frozen=True):
    """One contradiction.

    Attributes:
        subject: the package, or ``channels``.
        sides: what each file says, and where.
        reason: why they cannot hold together, where the sides do not tell.
        package: the name that ``replace`` would take over, empty where that is no way out.
        hint: another way out.
    """

    subject: str
    sides: tuple[tuple[str, Origin], ...]
    reason: str = ""
    package: str = ""
    hint: str = ""


def raise_conflicts(conflicts: Iterable[Conflict]) -> None:
    """Report every contradiction.

    Raises:
        ConflictError: there is at least one.
    """
    found = list(dict.fromkeys(conflicts))
    if not found:
        return
    number = (
        "1 requirement contradicts another" if len(found) == 1 else f"{len(found)} requirements contradict each other"
    )
    origins = [origin for conflict in found for _text, origin in conflict.sides]
    raise ConflictError(
        f"{number}; nothing was solved or written",
        details=[line for conflict in found for line in _lines(conflict)],
        hint=_hint(found),
        origins=dict.fromkeys(origins),
    )


def _lines(conflict: Conflict) -> Iterable[str]:
    yield mask(f"{conflict.subject}  {conflict.reason}".rstrip())
    for text, origin in conflict.sides[:SHOWN]:
        yield mask(f"  {text:<28} {origin.where:<30} {origin.label}").rstrip()
    if len(conflict.sides) > SHOWN:
        yield f"  … and {len(conflict.sides) - SHOWN} more"


def _hint(conflicts: list[Conflict]) -> str:
    """Return the way out of every contradiction; where there are several ways, each says what it is for."""
    ways: dict[str, list[Conflict]] = {}
    for conflict in conflicts:
        ways.setdefault(_takeover(conflict) or conflict.hint or "change one of these lines", []).append(conflict)
    if len(ways) == 1:
        return "".join(_filled(way, found) for way, found in ways.items())
    return "; ".join(
        f"{', '.join(dict.fromkeys(one.subject for one in found))}: {_filled(way, found)}"
        for way, found in ways.items()
    )


_PACKAGES = "PACKAGES"


def _takeover(conflict: Conflict) -> str:
    """Return how a later file takes over, with a gap for the packages; empty where one file contradicts itself."""
    last = conflict.sides[-1][1]
    if not conflict.package or last.file == conflict.sides[0][1].file:
        return ""
    file = "llmenv.yml" if last.layer is Layer.COMMAND_LINE and last.line is None else last.file
    return f"a later layer may take over by saying so: in {file} add llmenv: {{replace: [{_PACKAGES}]}}"


def _filled(way: str, conflicts: list[Conflict]) -> str:
    return way.replace(_PACKAGES, ", ".join(dict.fromkeys(one.package for one in conflicts)))
