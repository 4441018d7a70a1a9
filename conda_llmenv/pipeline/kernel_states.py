"""The kernelspecs of a machine, whoever made them, and whether what they start is there."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.model.kernels import Inside, Kernelspec
from conda_llmenv.pipeline.kernel_tools import KernelTools


class State(enum.Enum):
    """Whether a kernel can start what it was registered for."""

    ALIVE = "alive"
    CHANGED = "changed"
    GONE = "gone"
    BROKEN = "broken"
    ELSEWHERE = "elsewhere"


class Listed(Struct, frozen=True):
    """One kernelspec with what it would start.

    Attributes:
        spec: the kernelspec.
        state: whether that is there.
        reason: why not, or what has changed.
        inside: what is in its environment.
        activation: ``at start``, ``frozen`` (variables written down when it was registered), ``conda run`` or ``none``.
        shadowed: an earlier kernelspec of the same name is found in its place.
    """

    spec: Kernelspec
    state: State
    reason: str
    inside: Inside
    activation: str
    shadowed: bool = False


def listed(tools: KernelTools) -> tuple[Listed, ...]:
    """Return every kernelspec of this machine with what it would start."""
    seen: set[str] = set()
    found = []
    readable = {place.path for place in tools.places}
    for spec in tools.everything():
        anywhere = spec.folder.parent in readable
        found.append(replace(judged(spec, tools), shadowed=anywhere and spec.name in seen))
        if anywhere:
            seen.add(spec.name)
    return tuple(found)


def judged(spec: Kernelspec, tools: KernelTools) -> Listed:
    """Return a kernelspec with the state of what it starts."""
    python = spec.prefix is not None and (spec.noted is not None or Path(spec.argv[0]).name.startswith("python"))
    inside = tools.look(spec.prefix) if spec.prefix is not None and python else Inside("")
    state, reason = _state(spec, inside, tools)
    return Listed(spec, state, reason, inside, _activation(spec))


def _state(spec: Kernelspec, inside: Inside, tools: KernelTools) -> tuple[State, str]:
    if spec.problem:
        return State.BROKEN, spec.problem
    if spec.host or "kernel_provisioner" in spec.metadata:
        return State.ELSEWHERE, f"on {spec.host}" if spec.host else "started by a provisioner"
    return _foreign(spec, tools) if spec.noted is None else _own(spec, spec.noted, inside)


def _own(spec: Kernelspec, noted: Mapping[str, Any], inside: Inside) -> tuple[State, str]:
    if not inside.python:
        return State.GONE, f"there is no Python in {spec.prefix}"
    if inside.ipykernel is None:
        return State.BROKEN, f"there is no ipykernel in {spec.prefix} any more"
    if noted.get("digest") != inside.digest:
        return State.CHANGED, "other packages are installed than when it was registered"
    return State.ALIVE, ""


def _foreign(spec: Kernelspec, tools: KernelTools) -> tuple[State, str]:
    program = spec.argv[0]
    if not program.startswith("/"):
        return State.ELSEWHERE, f"{program} is looked for on PATH when it starts"
    return (State.ALIVE, "") if tools.runs(program) else (State.GONE, f"{program} is not there")


def _activation(spec: Kernelspec) -> str:
    if spec.noted is not None:
        return "at start"
    if "CONDA_PREFIX" in spec.env:
        return "frozen"
    program = Path(spec.argv[0]).name if spec.argv else ""
    if "run" in spec.argv[1:3] and program in {"conda", "mamba", "micromamba"}:
        return f"{program} run"
    return "none"
