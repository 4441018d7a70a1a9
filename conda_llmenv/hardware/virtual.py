"""What the target machine offers to a solver, as virtual packages (CEP 30, CEP 46), each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packaging.version import Version

from conda_llmenv.hardware.overrides import PREFIX, misspelled, override_of
from conda_llmenv.hardware.tables import Tables, load_tables
from conda_llmenv.hardware.tiers import capability_of, dotted, fits_tier, is_gpu_tier, lowest_card, tier_capability
from conda_llmenv.hardware.versions import parse
from conda_llmenv.model import EnvSpec, HostFacts, Notice, Sourced, VirtualPackage

DEFAULT_GLIBC = "2.28"
"""Assumed where the C library cannot be read: what conda-forge and PyTorch's wheels build against since 2024."""

DEFAULT_OSX = "11.0"
"""Assumed of a Mac: the oldest system that runs on Apple's own processors, and what conda-forge builds for there."""

_ASSUMED = "assumed by "

_ARCHITECTURES = {"64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64", "ppc64le": "ppc64le", "32": "x86"}


def virtual_packages(
    facts: HostFacts, spec: EnvSpec, environ: Mapping[str, str], tables: Tables | None = None
) -> tuple[tuple[VirtualPackage, ...], tuple[Notice, ...]]:
    """Return the virtual packages to solve with, and what a person should know about them.

    For each of them a ``CONDA_OVERRIDE_*`` variable wins (an empty value removes the package), then what this machine
    offers, then what the tier assumes. The CPU tier means no ``__cuda``, also on a machine with a card.

    Raises:
        InputError: an override has a value that conda cannot read.
    """
    tables = tables or load_tables()
    notices = [*misspelled(environ), *_cuda_notices(facts, spec, environ)]
    cuda = _cuda(facts, spec, environ)
    glibc, glibc_notices = _glibc(facts, spec, environ)
    found = [
        *_system(facts, environ),
        *glibc,
        _archspec(facts, spec, environ),
        *cuda,
        *(_cuda_arch(facts, spec, environ, tables) if cuda else ()),
    ]
    return tuple(package for package in found if package), tuple(notices + glibc_notices)


def _cuda(facts: HostFacts, spec: EnvSpec, environ: Mapping[str, str]) -> tuple[VirtualPackage, ...]:
    override = override_of("CUDA", environ)
    if override is not None:
        return (VirtualPackage("__cuda", override, reason=f"{PREFIX}CUDA"),) if override else ()
    if spec.tier is not None and not is_gpu_tier(spec.tier):
        return ()
    if facts.cuda_max:
        return (
            VirtualPackage(
                "__cuda", facts.cuda_max, reason=f"driver {facts.driver or 'of unknown version'} of this machine"
            ),
        )
    return _assumed(spec, "__cuda")


def _assumed(spec: EnvSpec, name: str, build: str = "0") -> tuple[VirtualPackage, ...]:
    assumed = assumption(spec, name)
    if assumed is None:
        return ()
    return (VirtualPackage(name, assumed.value, build, f"{_ASSUMED}{assumed.origin.where}"),)


def is_assumed(package: VirtualPackage) -> bool:
    """Return whether only a layer says that the target offers this: neither this machine nor an override does."""
    return package.reason.startswith(_ASSUMED)


def assumption(spec: EnvSpec, name: str) -> Sourced | None:
    """Return what the layers assume about a virtual package, the last one winning, or None."""
    return dict(spec.virtual_packages).get(name)


def _cuda_notices(facts: HostFacts, spec: EnvSpec, environ: Mapping[str, str]) -> Iterator[Notice]:
    """Yield what surprises about ``__cuda``: a CPU tier beside a card, a driver that is not what the tier assumes."""
    override, assumed = override_of("CUDA", environ), assumption(spec, "__cuda")
    cpu = spec.tier is not None and not is_gpu_tier(spec.tier)
    if cpu and override:
        yield Notice(
            "override-beside-cpu-tier",
            f"{PREFIX}CUDA={override} makes CUDA builds possible although the tier is for machines without a card",
            hint=f"unset {PREFIX}CUDA, or choose a tier with a card",
        )
    elif cpu and facts.gpus:
        yield Notice(
            "cpu-tier-beside-card",
            f"the CPU tier is solved without __cuda, although this machine has {facts.gpus[0].name}",
            hint="choose --tier auto for the tier of this card",
        )
    elif override is None and assumed and facts.cuda_max and parse(facts.cuda_max) != parse(assumed.value):
        yield _differs(facts.cuda_max, assumed, facts.driver)


def _differs(here: str, assumed: Sourced, driver: str | None) -> Notice:
    below = (parse(here) or Version("0")) < (parse(assumed.value) or Version("0"))
    return Notice(
        "cuda-differs-from-tier",
        f"solving as __cuda={here}, what driver {driver or 'here'} runs: "
        f"{'lower' if below else 'higher'} than the {assumed.value} that the tier assumes",
        origins=(assumed.origin,),
        hint=f"set {PREFIX}CUDA={assumed.value} if the environment is for other machines",
    )


def _cuda_arch(
    facts: HostFacts, spec: EnvSpec, environ: Mapping[str, str], tables: Tables
) -> tuple[VirtualPackage, ...]:
    override = override_of("CUDA_ARCH", environ)
    if override is not None:
        return (VirtualPackage("__cuda_arch", override, reason=f"{PREFIX}CUDA_ARCH"),) if override else ()
    tier = spec.tier
    here = [gpu for gpu in facts.gpus if tier is None or fits_tier(gpu, tier, tables)]
    if here:
        card = lowest_card(here, tables)
        found = capability_of(card, tables)
        return (VirtualPackage("__cuda_arch", dotted(found), reason=f"{card.name} of this machine"),) if found else ()
    found = tier_capability(tier, tables) if tier else None
    if tier is None or found is None:
        return _assumed(spec, "__cuda_arch")
    return (VirtualPackage("__cuda_arch", dotted(found), reason=f"{_ASSUMED}{tier.origin.file}"),)


def _glibc(
    facts: HostFacts, spec: EnvSpec, environ: Mapping[str, str]
) -> tuple[tuple[VirtualPackage, ...], list[Notice]]:
    if not facts.subdir.startswith("linux-"):
        return (), []
    override = override_of("GLIBC", environ)
    if override is not None:
        return ((VirtualPackage("__glibc", override, reason=f"{PREFIX}GLIBC"),) if override else ()), []
    if facts.glibc:
        return (VirtualPackage("__glibc", facts.glibc, reason="of this machine"),), []
    assumed = _assumed(spec, "__glibc")
    if assumed:
        return assumed, []
    if facts.elsewhere:
        return (VirtualPackage("__glibc", DEFAULT_GLIBC, reason=f"a default for {facts.subdir}"),), []
    notice = Notice(
        "glibc-unknown",
        f"the C library of this machine could not be read; solving as __glibc={DEFAULT_GLIBC}",
        hint=f"set {PREFIX}GLIBC to the version of the machines it is for",
    )
    return (VirtualPackage("__glibc", DEFAULT_GLIBC, reason="a default: it could not be read here"),), [notice]


def _system(facts: HostFacts, environ: Mapping[str, str]) -> Iterator[VirtualPackage]:
    yield VirtualPackage("__unix", "0", reason=f"target {facts.subdir}")
    if facts.subdir.startswith("osx-"):
        override = override_of("OSX", environ)
        yield VirtualPackage("__osx", override or DEFAULT_OSX, reason=f"{PREFIX}OSX" if override else "a default")
    if not facts.subdir.startswith("linux-"):
        return
    override = override_of("LINUX", environ)
    if override:
        yield VirtualPackage("__linux", override, reason=f"{PREFIX}LINUX")
    else:
        yield VirtualPackage(
            "__linux", facts.kernel or "0", reason="kernel of this machine" if facts.kernel else "kernel unknown"
        )


def _archspec(facts: HostFacts, spec: EnvSpec, environ: Mapping[str, str]) -> VirtualPackage | None:
    override = override_of("ARCHSPEC", environ)
    if override is not None:
        return VirtualPackage("__archspec", "1", override, f"{PREFIX}ARCHSPEC") if override else None
    if facts.cpu_level:
        return VirtualPackage("__archspec", "1", facts.cpu_level, "processor of this machine")
    assumed = assumption(spec, "__archspec")
    if assumed:
        return VirtualPackage("__archspec", "1", assumed.value, f"{_ASSUMED}{assumed.origin.where}")
    tail = facts.subdir.partition("-")[2]
    return VirtualPackage("__archspec", "1", _ARCHITECTURES.get(tail, tail), f"target {facts.subdir}")
