"""What is said of requirements that no set of packages fulfils, whichever solver found out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conda_llmenv.errors import Unsatisfiable
from conda_llmenv.model import SolveRequest
from conda_llmenv.redact import mask

STRICT = "with strict channel priority a package comes only from the first channel that has it at all"
SPELLING = "check the spelling, or add the channel that has it"

NAMED = 6
"""Packages that the sentence names; ``packages`` has all of them."""


def not_found(
    missing: Iterable[str], packages: Iterable[str], details: Iterable[str], request: SolveRequest, hint: str = SPELLING
) -> Unsatisfiable:
    """Return the refusal for packages that no channel has."""
    channels = ", ".join(mask(channel.name) for channel in request.channels)
    return Unsatisfiable(
        f"no channel has {', '.join(dict.fromkeys(missing))}, or not in the version asked for",
        packages=packages,
        details=(*details, f"looked in  {channels}"),
        hint=hint,
    )


def contradiction(packages: Sequence[str], details: Iterable[str], hint: str = "") -> Unsatisfiable:
    """Return the refusal for requirements that exclude each other."""
    return Unsatisfiable(
        "these requirements cannot all hold" + (f": {', '.join(packages[:NAMED])}" if packages else ""),
        packages=packages,
        details=details,
        hint=hint,
    )


def strict_hint(request: SolveRequest) -> str:
    """Return what strict channel priority may have to do with it."""
    return STRICT if request.channel_priority == "strict" and len(request.channels) > 1 else ""
