"""The plan checks, in the order of how hard each link binds: card, driver, CUDA, framework, libraries, accelerators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from conda_llmenv.hardware import accelerators, card, driver, framework, legacy, model_libraries, pip_torch
from conda_llmenv.hardware.asked import cuda_asks, requested
from conda_llmenv.hardware.builds import plan_cuda
from conda_llmenv.hardware.cuda import ChosenCuda
from conda_llmenv.hardware.remedy import channel_of
from conda_llmenv.hardware.tables import Tables, load_tables
from conda_llmenv.hardware.target import target_of
from conda_llmenv.hardware.versions import parse
from conda_llmenv.hardware.wheels import Wheel, chosen_wheel, pinned, pinned_wheel
from conda_llmenv.model import (
    EnvSpec,
    HostFacts,
    Origin,
    PipPlan,
    PipRequirement,
    Record,
    Solution,
    Verdict,
    VirtualPackage,
)

WHEEL_SUBDIR = "linux-64"
"""The platform that the tables of wheels describe."""


def check_before(
    spec: EnvSpec,
    facts: HostFacts,
    virtual: Sequence[VirtualPackage],
    *,
    assumed: bool | None = None,
    configured_indexes: Sequence[str] = (),
    tables: Tables | None = None,
) -> tuple[Verdict, ...]:
    """Judge what can be judged without repodata, every verdict with the lines a person can change.

    Args:
        spec: the composed environment.
        facts: this machine.
        virtual: what the solve is told about the target.
        assumed: whether to judge for the tier's card instead of the one here; None finds out.
        configured_indexes: package indexes of the person's pip configuration; a pinned torch is judged before the pip
            section is resolved only where these leave no doubt which wheel it means.
        tables: other tables than the packaged ones.
    """
    tables = tables or load_tables()
    target = target_of(spec, facts, virtual, tables, assumed=assumed)
    asks = cuda_asks(spec, tables)
    found = [
        *card.check_present(target, facts),
        *card.check_asks(asks, spec, target, tables),
        *driver.check_tier_driver(spec, target),
        *driver.check_asks(asks, spec, target, tables),
        *legacy.check_generations(asks, spec, tables),
    ]
    torch = _requirement(spec, "torch")
    version = pinned(torch) if torch else None
    if torch and version and facts.subdir == WHEEL_SUBDIR:
        wheel = pinned_wheel(torch, spec.pip, configured_indexes, tables)
        if wheel is not None and target.wants_gpu is not False:
            found += pip_torch.check_wheel(wheel, torch.origin, target, tables)
        found += framework.check_python(version, spec, (torch.origin,), tables)
        found += framework.check_pairs(version, _pins(spec), _pip_origins(spec), tables)
    return (*found, *accelerators.check_card(spec, target, tables))


def check_after(
    spec: EnvSpec,
    solution: Solution,
    facts: HostFacts,
    virtual: Sequence[VirtualPackage],
    *,
    tables: Tables | None = None,
) -> tuple[Verdict, ...]:
    """Judge what the solver chose, before anything is downloaded."""
    tables = tables or load_tables()
    target = target_of(spec, facts, virtual, tables)
    chosen = plan_cuda(solution, tables)
    found: list[Verdict] = []
    if chosen:
        cuda, record = chosen
        origins = requested(spec, record.name, ("pytorch-gpu", "torchvision", "torchaudio"))
        built = ChosenCuda(cuda, f"{record} (channel {channel_of(record, spec)})", origins)
        found += card.check_chosen(built, spec, target, tables)
        found += driver.check_chosen(built, spec, target, tables)
    found += framework.check_builds(spec, solution, target, tables)
    versions, origins_by_name = _versions(solution.records), _conda_origins(spec)
    torch = versions.get("pytorch")
    found += model_libraries.check_torch_floors(torch, versions, origins_by_name, tables)
    found += accelerators.check_versions(torch, chosen[0] if chosen else None, versions, origins_by_name, tables)
    return tuple(found)


def check_pip(
    spec: EnvSpec,
    plan: PipPlan,
    solution: Solution,
    facts: HostFacts,
    virtual: Sequence[VirtualPackage],
    *,
    tables: Tables | None = None,
) -> tuple[Verdict, ...]:
    """Judge what the pip section resolved to, together with what conda provides."""
    tables = tables or load_tables()
    target = target_of(spec, facts, virtual, tables)
    python = parse(getattr(solution.record("python"), "version", None))
    resolved = {package.name: version for package in plan.packages if (version := parse(package.version))}
    origins = {**_conda_origins(spec), **_pip_origins(spec)}
    found: list[Verdict] = []
    wheel = _torch_wheel(plan, tables) if facts.subdir == WHEEL_SUBDIR else None
    if wheel:
        found += pip_torch.check_wheel(wheel, origins.get("torch"), target, tables, python)
        found += framework.check_pairs(wheel.version, resolved, origins, tables)
        if python:
            found += framework.check_chosen_python(wheel.version, python, spec, tables)
    conda = _versions(solution.records)
    torch = resolved.get("torch") or conda.get("pytorch")
    cuda = wheel.cuda if wheel else (plan_cuda(solution, tables) or (None,))[0]
    found += model_libraries.check_torch_floors(torch, resolved, origins, tables)
    return (*found, *accelerators.check_versions(torch, cuda, resolved, origins, tables))


def _torch_wheel(plan: PipPlan, tables: Tables) -> Wheel | None:
    package = next((package for package in plan.packages if package.name == "torch"), None)
    return chosen_wheel(package, plan, tables) if package else None


def _requirement(spec: EnvSpec, name: str) -> PipRequirement | None:
    return next((requirement for requirement in spec.pip.requirements if requirement.name == name), None)


def _pins(spec: EnvSpec) -> dict[str, Version]:
    return {
        requirement.name: version
        for requirement in spec.pip.requirements
        if requirement.name and (version := pinned(requirement))
    }


def _versions(records: Iterable[Record]) -> Mapping[str, Version]:
    return {record.name: version for record in records if (version := parse(record.version))}


def _conda_origins(spec: EnvSpec) -> dict[str, Origin]:
    return {merged.name: merged.parts[-1].origin for merged in spec.specs if merged.parts}


def _pip_origins(spec: EnvSpec) -> dict[str, Origin]:
    return {requirement.name: requirement.origin for requirement in spec.pip.requirements if requirement.name}
