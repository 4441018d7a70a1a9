"""The framework link: the kind of build that was chosen, its Python, and the packages that pair with torch."""

from __future__ import annotations

from packaging.version import Version

from conda_llmenv.hardware.asked import asked_kind, match_spec, origins_of
from conda_llmenv.hardware.builds import BuildKind, build_kind
from conda_llmenv.hardware.remedy import Chosen, Remedy, for_cpu_build, for_cuda_build
from conda_llmenv.hardware.tables import Tables, TorchRelease
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.versions import minor, permits
from conda_llmenv.model import Change, EnvSpec, Origin, Solution, Status, Verdict

LINK = "framework"

PYTHONS = tuple(f"3.{number}" for number in range(6, 20))
"""Python minors a spec may permit."""


def check_builds(spec: EnvSpec, solution: Solution, target: Target, tables: Tables) -> tuple[Verdict, ...]:
    """Judge whether each framework was solved to the kind of build the tier is for."""
    return tuple(
        _check_build(Chosen(record, framework, spec, solution), target, tables)
        for framework in tables.frameworks
        if (record := solution.record(framework.name))
    )


def _check_build(chosen: Chosen, target: Target, tables: Tables) -> Verdict:
    record, framework = chosen.record, chosen.framework
    kind = build_kind(record)
    by_name = asked_kind(chosen.spec, framework.name, framework.cpu) is BuildKind.CPU
    if kind is BuildKind.OTHER:
        return Verdict("build-kind", LINK, Status.SKIP, f"{record} does not tell whether it is a CPU or a CUDA build")
    if kind is BuildKind.CPU and by_name:
        return Verdict("build-kind", LINK, Status.PASS, f"{record} is a CPU build, as asked for by name")
    if kind is BuildKind.CPU and target.wants_gpu is not False and (target.wants_gpu or target.cuda):
        return _wrong_kind("cpu-build", chosen, target, for_cpu_build(chosen, target, tables))
    if kind is BuildKind.CUDA and target.wants_gpu is False:
        return _wrong_kind("cuda-build", chosen, target, for_cuda_build(chosen))
    return Verdict("build-kind", LINK, Status.PASS, f"{record} is a {kind.value.upper()} build")


def _wrong_kind(check: str, chosen: Chosen, target: Target, remedy: Remedy) -> Verdict:
    record, origins = chosen.record, chosen.origins
    asked = f", asked for at {', '.join(origin.where for origin in origins)}" if origins else ""
    return Verdict(
        check,
        LINK,
        Status.FAIL if target.wants_gpu is not None else Status.WARN,
        f"{target.label} would get a {'CPU' if check == 'cpu-build' else 'CUDA'} build of {record.name}",
        detail=(f"{record}    channel {chosen.channel}{asked}",),
        why=remedy.why,
        origins=origins,
        changes=remedy.changes,
    )


def check_python(torch: Version, spec: EnvSpec, origins: tuple[Origin, ...], tables: Tables) -> tuple[Verdict, ...]:
    """Judge a pinned torch of the pip section against what the specs leave of Python."""
    release, merged = tables.torch_release(torch), spec.spec("python")
    if release is None or merged is None:
        return ()
    versions = [match_spec(text).version for text in merged.texts]
    possible = [python for python in PYTHONS if all(permits(version, _patches(python)) for version in versions)]
    if not possible or any(_has_wheels(Version(python), release) for python in possible):
        return ()
    return (_no_wheel(torch, ", ".join(possible), release, (*origins, *origins_of(merged)), origins_of(merged)[-1]),)


def check_chosen_python(torch: Version, python: Version, spec: EnvSpec, tables: Tables) -> tuple[Verdict, ...]:
    """Judge the torch of a resolved pip section against the Python that was solved."""
    release = tables.torch_release(torch)
    if release is None or _has_wheels(minor(python), release):
        return ()
    merged = spec.spec("python")
    origins = origins_of(merged) if merged else ()
    return (_no_wheel(torch, str(minor(python)), release, origins, origins[-1] if origins else None),)


def _has_wheels(python: Version, release: TorchRelease) -> bool:
    return release.python[0] <= python <= release.python[1]


def _no_wheel(
    torch: Version, pythons: str, release: TorchRelease, origins: tuple[Origin, ...], at: Origin | None
) -> Verdict:
    first, last = release.python
    return Verdict(
        "python-torch",
        LINK,
        Status.FAIL,
        f"torch {torch} has no wheel for Python {pythons}",
        why=f"The wheels of torch {release.series} are for Python {first} to {last}.",
        origins=origins,
        changes=(Change("spec", (f"python >={first},<{last.major}.{last.minor + 1}",), at, "python"),),
    )


def _patches(python: str) -> list[str]:
    return [python, *(f"{python}.{patch}" for patch in range(30))]


def check_pairs(
    torch: Version, companions: dict[str, Version], origins: dict[str, Origin], tables: Tables
) -> tuple[Verdict, ...]:
    """Judge torchvision and torchaudio against torch: their compiled parts fit one minor release of it.

    torchaudio from 2.11 on is built against the stable ABI and fits every later torch.
    """
    release = tables.torch_release(torch)
    if release is None:
        return ()
    wanted = {"torchvision": release.torchvision, "torchaudio": release.torchaudio}
    return tuple(
        _unpaired(name, found, torch, pair, origins.get(name))
        for name, pair in wanted.items()
        if pair and (found := companions.get(name)) and not _pairs(name, found, pair)
    )


def _pairs(name: str, found: Version, pair: Version) -> bool:
    if name == "torchaudio" and pair >= Version("2.11"):
        return minor(found) >= pair
    return minor(found) == pair


def _unpaired(name: str, found: Version, torch: Version, pair: Version, origin: Origin | None) -> Verdict:
    return Verdict(
        "torch-pair",
        LINK,
        Status.FAIL,
        f"{name} {found} does not go with torch {torch}",
        why=f"The compiled part of {name} fits one release of torch: {torch} goes with {name} {pair}.",
        origins=(origin,) if origin else (),
        changes=(Change("pip", (f"{name}=={pair}.*",), origin, name),),
    )
