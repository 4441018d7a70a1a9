"""Builds what the checks take: composed environments from real text, facts of machines, solutions and pip plans."""

from __future__ import annotations

from pathlib import Path

from conda_llmenv.compose.merging import merge
from conda_llmenv.compose.reader import read_fragment
from conda_llmenv.hardware import virtual_packages
from conda_llmenv.model import (
    EnvSpec,
    Fragment,
    Gpu,
    HostFacts,
    Kind,
    Layer,
    PipPackage,
    PipPlan,
    Record,
    Solution,
    Source,
    VirtualPackage,
)

NOWHERE = Path("/nowhere")

A100 = """\
channels: [conda-forge]
llmenv:
  gpu: {match: ["A100", "A800"], compute_capability: "8.0"}
  virtual_packages: {__cuda: "12.4"}
"""
H100 = """\
llmenv:
  gpu: {match: ["H100", "H200"], compute_capability: "9.0"}
  virtual_packages: {__cuda: "12.4"}
"""
V100 = """\
llmenv:
  gpu: {match: ["V100"], compute_capability: "7.0"}
  virtual_packages: {__cuda: "12.2"}
"""
RTX_50 = """\
llmenv:
  gpu: {match: ["RTX 5090"], compute_capability: "12.0"}
  virtual_packages: {__cuda: "12.8"}
"""
T4 = """\
llmenv:
  gpu: {match: ["T4"], compute_capability: "7.5"}
  virtual_packages: {__cuda: "12.2"}
"""
CPU = "llmenv: {verify: {ddp: gloo}}\n"

TIERS = {"a100": A100, "h100": H100, "v100": V100, "rtx-50": RTX_50, "t4": T4, "cpu": CPU}


def fragment(
    text: str, name: str = "environment", kind: Kind = Kind.FRAGMENT, layer: Layer = Layer.COMMAND_LINE
) -> Fragment:
    """Read a fragment from text; it shows itself as ``<name>.yml``."""
    display = f"envs/tiers/{name}.yml" if kind is Kind.TIER else f"{name}.yml"
    source = Source(name, display, NOWHERE, text.encode(), kind, layer)
    return read_fragment(source, _no_file, lambda _path: True)


def _no_file(path: Path) -> bytes:
    raise FileNotFoundError(path)


def tier(name: str, text: str | None = None) -> Fragment:
    """Read a tier: one of :data:`TIERS`, or the text given."""
    return fragment(text or TIERS[name], name, Kind.TIER, Layer.TIER)


def composed(text: str, tier_name: str | None = "a100", *more: tuple[str, str]) -> EnvSpec:
    """Merge a tier, the text as ``environment.yml`` and further (name, text) files."""
    tiers = [tier(tier_name)] if tier_name else []
    return merge([*tiers, fragment(text), *(fragment(content, name) for name, content in more)])


def host(driver: str | None = None, cuda: str | None = None, *gpus: Gpu, subdir: str = "linux-64") -> HostFacts:
    """Return the facts of a machine with a driver and cards."""
    return HostFacts(
        subdir=subdir,
        glibc="2.35",
        kernel="5.15.0",
        cpu_level="x86_64_v3",
        driver=driver,
        cuda_max=cuda,
        gpus=gpus,
        gpu_source="nvml" if gpus else "none",
    )


A100_CARD = Gpu("NVIDIA A100-SXM4-80GB", 81920, (8, 0))
LOGIN_NODE = host()


def offered(facts: HostFacts, spec: EnvSpec, environ: dict[str, str] | None = None) -> tuple[VirtualPackage, ...]:
    """Return the virtual packages of a machine."""
    return virtual_packages(facts, spec, environ or {})[0]


def record(name: str, version: str, build: str, channel: str = "conda-forge", depends: tuple[str, ...] = ()) -> Record:
    """Return a record as an engine would."""
    url = f"https://conda.example/{channel}"
    file_name = f"{name}-{version}-{build}.conda"
    return Record(
        name=name,
        version=version,
        build=build,
        build_number=0,
        subdir="linux-64",
        url=f"{url}/linux-64/{file_name}",
        channel=url,
        file_name=file_name,
        depends=depends,
    )


def solution(*records: Record) -> Solution:
    """Return a solution of these records."""
    return Solution(tuple(sorted(records, key=lambda found: found.name)), "fake", 0.1)


def pip_plan(*pins: str, urls: dict[str, str] | None = None) -> PipPlan:
    """Return a resolved pip section from ``name==version`` lines."""
    packages = []
    for pin in pins:
        name, _, version = pin.partition("==")
        packages.append(PipPackage(name, version, pin, url=(urls or {}).get(name)))
    return PipPlan("fake", tuple(packages))
