"""What the table of known faults says about an error that a probe met."""

from __future__ import annotations

from collections.abc import Iterable

from conda_llmenv.diagnosis.faults import Fault
from conda_llmenv.diagnosis.matching import read_log
from conda_llmenv.diagnosis.prefilter import packaged_prefilter


def known_fault(lines: Iterable[str]) -> Fault | None:
    """Return the root of what the lines show, None where nothing in them is known."""
    text = "\n".join(lines).encode("utf-8", "backslashreplace")
    faults = read_log([text], packaged_prefilter()).faults
    return faults[0].fault if faults else None


def known_fix(lines: Iterable[str]) -> str:
    """Return cause and next step of the known fault that the lines show; an empty string for none."""
    fault = known_fault(lines)
    return f"{fault.cause}: {fault.action}" if fault else ""
