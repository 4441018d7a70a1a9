"""How CUDA versions fit together: with a card, with a driver, and what to ask for instead (facts, no verdicts)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from packaging.version import Version

from conda_llmenv.hardware.asked import CudaAsk, cuda_asks
from conda_llmenv.hardware.tables import Capability, Tables
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.torch_series import has_build
from conda_llmenv.hardware.versions import minor
from conda_llmenv.model import Change, EnvSpec, Origin, Status


class Fit(Struct, frozen=True):
    """Whether a driver runs a CUDA, with the driver versions that decide.

    Attributes:
        status: FAIL below the floor of the major; WARN from there to the toolkit's own driver (minor-version
            compatibility: no PTX JIT, new features off), but PASS where a tier only assumes the driver; PASS from
            there on; SKIP where no driver is known.
        floor: smallest driver that runs it at all.
        full: driver from which it works in full.
    """

    status: Status
    floor: Version | None = None
    full: Version | None = None


class ChosenCuda(Struct, frozen=True):
    """The CUDA a solver chose: ``words`` name the record that tells, ``origins`` the lines that asked for it."""

    cuda: Version
    words: str
    origins: tuple[Origin, ...]


def fit_driver(cuda: Version, target: Target, tables: Tables) -> Fit:
    """Return whether the target's driver runs ``cuda``.

    Where only a CUDA version is known (an override or a tier's assumption), the same rule is applied to it: a newer
    major does not run, a newer minor of the same major runs with limits. What a tier assumes is the least that such
    machines have, no reason to warn.
    """
    floor, full = tables.driver_floor(cuda), tables.toolkit_driver(cuda)
    if target.driver is not None and floor is not None:
        if target.driver < floor:
            return Fit(Status.FAIL, floor, full)
        return Fit(Status.WARN if full is not None and target.driver < full else Status.PASS, floor, full)
    if target.cuda is None:
        return Fit(Status.SKIP, floor, full)
    if cuda.major > target.cuda.major:
        return Fit(Status.FAIL, floor, full)
    limited = minor(cuda) > minor(target.cuda) and not target.driver_assumed
    return Fit(Status.WARN if limited else Status.PASS, floor, full)


def misfit(cuda: Version, capability: Capability, tables: Tables) -> str | None:
    """Return why a CUDA version has no code for a capability (``needs …``, ``was dropped …``), None if it has."""
    first = tables.first_cuda_for(capability)
    if first is not None and cuda < first:
        return f"needs CUDA {first} or newer"
    dropped = tables.dropped_by(capability, cuda)
    return None if dropped is None else f"was dropped by CUDA {dropped}"


def usable(target: Target, tables: Tables) -> tuple[Version, ...]:
    """Return the CUDA minors that both card and driver can use, ascending."""
    return tuple(
        cuda
        for cuda in tables.cuda_versions()
        if (target.capability is None or misfit(cuda, target.capability, tables) is None)
        and fit_driver(cuda, target, tables).status is not Status.FAIL
    )


def replacements(asks: Sequence[CudaAsk], spec: EnvSpec, target: Target, tables: Tables) -> tuple[Change, ...]:
    """Return for each spec the change that makes it ask for a CUDA the target can use; none if one has no such.

    The CUDA has to fit everything else that the environment asks for, as far as the tables know.
    """
    others = [ask for ask in cuda_asks(spec, tables) if ask not in asks and _tied(ask, tables)]
    known = [cuda for cuda in _with_framework(spec, target, tables) if all(cuda in other.allowed for other in others)]
    changes = [_replacement(ask, known, tables) for ask in asks]
    return tuple(change for change in changes if change) if all(changes) else ()


LEVERS = ("pytorch-cuda", "cuda-version", "cudatoolkit")
"""Specs that steer the CUDA of a whole environment, the strongest first."""


def limit_cuda(spec: EnvSpec, target: Target, tables: Tables) -> tuple[Change, ...]:
    """Return the change that keeps a solver to usable CUDA: of the spec that steers it, or a new one."""
    asks = {ask.name: ask for ask in cuda_asks(spec, tables)}
    lever = next((asks[name] for name in LEVERS if name in asks), None)
    if lever is not None:
        return replacements((lever,), spec, target, tables)
    known = _with_framework(spec, target, tables)
    return (Change("add", (_range("cuda-version", known),), name="cuda-version"),) if known else ()


def _range(name: str, known: Sequence[Version]) -> str:
    """The newest usable major as a range, so that the solver keeps some freedom."""
    newest = known[-1]
    least = min(cuda for cuda in known if cuda.major == newest.major)
    return f"{name} >={least},<{newest.major + 1}"


def _with_framework(spec: EnvSpec, target: Target, tables: Tables) -> list[Version]:
    """The usable CUDA minors for which there is a pytorch that the specs permit."""
    return [cuda for cuda in usable(target, tables) if has_build(spec, cuda, tables)]


def _tied(ask: CudaAsk, tables: Tables) -> bool:
    """Whether a spec has to agree with the other packages of CUDA; those of before CUDA 12 stand for themselves."""
    package = tables.cuda_packages.get(ask.name)
    return package is not None and package.successor is None and not package.versions


def _replacement(ask: CudaAsk, usable_cuda: Sequence[Version], tables: Tables) -> Change | None:
    package = tables.cuda_packages.get(ask.name)
    if package is None:
        return None
    known = [
        cuda
        for cuda in usable_cuda
        if (not package.versions or cuda in package.versions) and (package.newest is None or cuda <= package.newest)
    ]
    if not known:
        return None
    exact = package.versions or package.newest
    return Change("spec", (f"{ask.name}={known[-1]}" if exact else _range(ask.name, known),), ask.origins[-1], ask.name)
