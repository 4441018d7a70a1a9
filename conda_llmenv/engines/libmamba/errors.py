"""libmamba's failures as ours."""

from __future__ import annotations

import re
from collections.abc import Collection

from conda_llmenv.engines.explain import conflict_lines
from conda_llmenv.engines.libmamba.messages import Conflict
from conda_llmenv.engines.unsatisfiable import SPELLING, STRICT, contradiction, not_found
from conda_llmenv.errors import Unsatisfiable
from conda_llmenv.model import SolveRequest
from conda_llmenv.redact import mask

SAID_BEFORE = 20
"""Lines of a broken-down library's output that are kept."""

PREAMBLES = ("Could not solve for environment specs", "The following package", "Encountered problems while solving")
"""Lines of an explanation that say only that it is one."""

_REWORDED = (
    (re.compile(r"(__\w+) ==(\S+) \S+ is requested and can be installed"), r"\1 \2 is what the machine offers"),
    (re.compile(r"\bpin on "), "the constraint on "),
    (re.compile(r" =\* \*(?!\w)"), ""),
    (re.compile(r" \*(?=[ ,;.|\]]|$)", re.MULTILINE), ""),
)


def unsatisfiable(conflict: Conflict, request: SolveRequest, hidden: Collection[str]) -> Unsatisfiable:
    """Return what a person needs of a conflict.

    Args:
        conflict: what libmamba said.
        request: what was asked.
        hidden: packages that strict channel priority took candidates from.
    """
    details = conflict_lines(readable(conflict.text))
    strict = STRICT if any(name in hidden for name in conflict.names) else ""
    if conflict.missing:
        return not_found(conflict.missing, conflict.names, details, request, strict or SPELLING)
    return contradiction(conflict.names, details, strict)


def readable(explanation: str) -> str:
    """Return libmamba's explanation without its preamble and without stars for `any`, and in this program's words.

    What the machine offers had to be asked for like a package, and a constraint is a pin to libmamba.
    """
    text = "\n".join(line for line in explanation.splitlines() if not line.startswith(PREAMBLES))
    for pattern, words in _REWORDED:
        text = pattern.sub(words, text)
    return text


def broken_down(said: str) -> Unsatisfiable:
    """Return the failure of the library itself, with what it said last."""
    return Unsatisfiable("libmamba's solver broke down", details=mask(said).splitlines()[-SAID_BEFORE:])
