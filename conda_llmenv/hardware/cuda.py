"""How CUDA versions fit together: with a card, with a driver, and what to ask for instead (facts, no verdicts)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from packaging.version import Version

from conda_llmenv.hardware.asked import CudaAsk, cuda_asks, match_spec
from conda_llmenv.hardware.tables import Capability, Tables
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.versions import minor, permits
from conda_llmenv.model import Change, EnvSpec, Origin, Status

PATCHES = 5
"""Third numbers of torch releases tried: no series had more."""


class Fit(Struct, frozen=True):
    """Whether a driver runs a CUDA, with the driver versions that decide.

    Attributes:
        status: FAIL below the floor of the major; WARN from there to the toolkit's own driver (minor-version
            compatibility: no PTX JIT, new features off); PASS from there on; SKIP where no driver is known.
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
    major does not run, a newer minor of the same major runs with limits.
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
    return Fit(Status.WARN if minor(cuda) > minor(target.cuda) else Status.PASS, floor, full)


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
    """Return for each spec the change that makes it ask for a CUDA the target can use; none if one has no such."""
    changes = [_replacement(ask, spec, target, tables) for ask in asks]
    return tuple(change for change in changes if change) if all(changes) else ()


LEVERS = ("pytorch-cuda", "cuda-version", "cudatoolkit")
"""Specs that steer the CUDA of a whole environment, the strongest first."""


def limit_cuda(spec: EnvSpec, target: Target, tables: Tables) -> tuple[Change, ...]:
    """Return the change that keeps a solver to usable CUDA: of the spec that steers it, or a new one."""
    asks = {ask.name: ask for ask in cuda_asks(spec, tables)}
    lever = next((asks[name] for name in LEVERS if name in asks), None)
    if lever is not None:
        return replacements((lever,), spec, target, tables)
    known = usable(target, tables)
    return (Change("add", (_range("cuda-version", known),), name="cuda-version"),) if known else ()


def _range(name: str, known: Sequence[Version]) -> str:
    """The newest usable major as a range, so that the solver keeps some freedom."""
    newest = known[-1]
    least = min(cuda for cuda in known if cuda.major == newest.major)
    return f"{name} >={least},<{newest.major + 1}"


def _replacement(ask: CudaAsk, spec: EnvSpec, target: Target, tables: Tables) -> Change | None:
    package = tables.cuda_packages.get(ask.name)
    if package is None:
        return None
    known = [
        cuda
        for cuda in usable(target, tables)
        if (not package.versions or cuda in package.versions) and (package.newest is None or cuda <= package.newest)
    ]
    known = [cuda for cuda in known if framework_has(spec, cuda, tables)]
    if not known:
        return None
    exact = package.versions or package.newest
    return Change("spec", (f"{ask.name}={known[-1]}" if exact else _range(ask.name, known),), ask.origins[-1], ask.name)


def framework_has(spec: EnvSpec, cuda: Version, tables: Tables) -> bool:
    """Return whether a pytorch that the specs permit was ever built for ``cuda``.

    Only the series of the closed channel ``pytorch`` are known; a newer one is taken to exist for every CUDA.
    """
    merged = spec.spec("pytorch")
    if merged is None:
        return True
    versions = [match_spec(text).version for text in merged.texts]
    open_ended = str(tables.torch[0].latest)
    series = [str(name) for name, built in tables.conda_torch.items() if cuda in built]
    spelled = [open_ended, *(f"{name}.{patch}" for name in series for patch in range(PATCHES)), *series]
    newer = [str(release.latest) for release in tables.torch if str(release.series) not in tables.conda_torch]
    return all(permits(version, [*spelled, *newer]) is not False for version in versions)
