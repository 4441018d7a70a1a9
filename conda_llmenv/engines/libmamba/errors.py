"""libmamba's failures as ours."""

from __future__ import annotations

from collections.abc import Collection

from conda_llmenv.engines.explain import conflict_lines
from conda_llmenv.engines.libmamba.messages import Conflict
from conda_llmenv.errors import Unsatisfiable
from conda_llmenv.model import SolveRequest
from conda_llmenv.redact import mask

PREAMBLES = ("Could not solve for environment specs", "The following package")
"""Lines of an explanation that say only that it is one."""


def unsatisfiable(conflict: Conflict, request: SolveRequest, hidden: Collection[str]) -> Unsatisfiable:
    """Return what a person needs of a conflict.

    Args:
        conflict: what libmamba said.
        request: what was asked.
        hidden: packages that strict channel priority took candidates from.
    """
    details = conflict_lines("\n".join(line for line in conflict.text.splitlines() if not line.startswith(PREAMBLES)))
    behind = [name for name in conflict.names if name in hidden]
    strict = "with strict channel priority a package comes only from the first channel that has it at all"
    if conflict.missing:
        channels = ", ".join(mask(channel.name) for channel in request.channels)
        return Unsatisfiable(
            f"no channel has {', '.join(conflict.missing)}, or not in the version asked for",
            packages=conflict.names,
            details=(*details, f"looked in  {channels}"),
            hint=strict if behind else "check the spelling, or add the channel that has it",
        )
    return Unsatisfiable(
        "these requirements cannot all hold" + (f": {', '.join(conflict.names[:6])}" if conflict.names else ""),
        packages=conflict.names,
        details=details,
        hint=strict if behind else "",
    )


def broken_down(details: str) -> Unsatisfiable:
    """Return the failure of the library itself; ``details`` is what it said last."""
    return Unsatisfiable("libmamba's solver broke down", details=mask(details).splitlines()[-20:])
