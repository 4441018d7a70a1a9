"""Find kernelspecs of ours that start what is not there any more, or is another now, and say what is to be done."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from conda_llmenv.errors import LlmenvError
from conda_llmenv.model.kernels import Kernelspec
from conda_llmenv.pipeline.kernel_states import State, judged
from conda_llmenv.pipeline.kernel_tools import KernelTools
from conda_llmenv.pipeline.kernels import foreign, renew, select


class Step(enum.Enum):
    """What a repair does with one kernelspec."""

    RENEW = "register anew"
    MOVE = "register where it is now"
    REMOVE = "remove"
    LEAVE = "leave"


class Repair(Struct, frozen=True):
    """What is wrong with a kernelspec and what is to be done.

    Attributes:
        spec: the kernelspec.
        step: see :class:`Step`.
        reason: what is wrong.
        prefix: the environment it is to start from then on, where that is known.
        candidates: environments that could be it, where there is more than one.
    """

    spec: Kernelspec
    step: Step
    reason: str
    prefix: Path | None = None
    candidates: tuple[Path, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether nobody has to be asked: what the kernelspec starts stays the same, or nothing is done."""
        return self.step in {Step.RENEW, Step.LEAVE}


def plan_repairs(names: Iterable[str], tools: KernelTools) -> tuple[Repair, ...]:
    """Return what is to be done for the kernelspecs of these names, or for all of ours where none is given.

    Raises:
        InputError: a name is of none, or of somebody else's, which is left alone.
    """
    named = select(names, tools)
    for spec in named:
        if not spec.ours:
            raise foreign(spec)
    chosen = named or tuple(spec for spec in tools.everything() if spec.ours)
    found = (_repair(spec, tools, asked=bool(named)) for spec in chosen if not spec.host)
    return tuple(repair for repair in found if repair is not None)


def repair(planned: Repair, tools: KernelTools) -> Kernelspec | None:
    """Do what was planned; return the new kernelspec, if there is one.

    Raises:
        LlmenvError: it cannot be done; the kernelspec is as it was.
    """
    if planned.step is Step.REMOVE:
        tools.remove(planned.spec)
        return None
    if planned.step is Step.LEAVE or planned.prefix is None:
        raise LlmenvError(planned.reason)
    return renew(planned.spec, planned.prefix, tools)


def _repair(spec: Kernelspec, tools: KernelTools, *, asked: bool) -> Repair | None:
    now = judged(spec, tools)
    if now.state is State.ALIVE:
        return Repair(spec, Step.RENEW, "nothing is wrong with it", spec.prefix) if asked or _outdated(spec) else None
    if now.state is State.CHANGED:
        return Repair(spec, Step.RENEW, now.reason, spec.prefix)
    if now.state is not State.GONE:
        return Repair(spec, Step.LEAVE, now.reason, spec.prefix)
    candidates = _moved_to(spec, tools)
    if len(candidates) == 1:
        return Repair(spec, Step.MOVE, f"{now.reason}; the same packages are in {candidates[0]}", candidates[0])
    if candidates:
        return Repair(spec, Step.LEAVE, f"{now.reason}; it may be any of several now", candidates=candidates)
    return Repair(spec, Step.REMOVE, now.reason)


def _outdated(spec: Kernelspec) -> bool:
    """Return whether what starts the kernel is missing: somebody tidied up."""
    return not any(word.endswith("launch.py") for word in spec.argv)


def _moved_to(spec: Kernelspec, tools: KernelTools) -> tuple[Path, ...]:
    """Return the environments with the same packages that no other kernelspec of ours starts already."""
    digest = (spec.noted or {}).get("digest")
    taken = {other.prefix for other in tools.everything() if other.ours}
    free = (prefix for prefix in tools.environments() if prefix not in taken)
    return tuple(prefix for prefix in free if digest and tools.look(prefix).digest == digest)
