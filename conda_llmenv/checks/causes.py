"""What the table of known faults says about an error that a probe met."""

from __future__ import annotations

from collections.abc import Iterable

from conda_llmenv.diagnosis.matching import read_log
from conda_llmenv.diagnosis.prefilter import Prefilter
from conda_llmenv.diagnosis.rules import packaged_rules


def known_fix(lines: Iterable[str]) -> str:
    """Return cause and next step of the first known fault that the lines show; an empty string for none."""
    text = "\n".join(lines).encode("utf-8", "backslashreplace")
    found = read_log([text], Prefilter(packaged_rules())).findings
    return f"{found[0].finding.cause}: {found[0].finding.action}" if found else ""
