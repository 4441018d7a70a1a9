"""``llmenv tiers``: what hardware is known, what a tier switches on, and which one fits here."""

from __future__ import annotations

from typing import Any

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import complete_names, json_option
from conda_llmenv.model import Fragment, HostFacts


@click.group()
def tiers() -> None:
    """List the hardware tiers, show one, or detect which fits this machine."""


@tiers.command("list")
@json_option
def list_tiers(*, as_json: bool) -> None:
    """List the tiers, nearest file first."""
    from conda_llmenv.cli.wiring import open_tools
    from conda_llmenv.compose import read_tiers

    with open_tools(quiet=True) as tools:
        found = read_tiers(tools.library)
    if as_json:
        console.payload("tiers list", [tier_json(tier) for tier in found])
        return
    console.table(
        ("tier", "memory", "capability", "driver", "cards"),
        [(tier.name, _memory(tier), _capability(tier), _driver(tier), _cards(tier)) for tier in found],
    )


@tiers.command()
@click.argument("name", shell_complete=complete_names("tier"))
@json_option
def show(name: str, *, as_json: bool) -> None:
    """Show what a tier asks for and switches on, with the reasons its file gives."""
    from conda_llmenv.cli.wiring import open_tools
    from conda_llmenv.compose import read_tier

    with open_tools(quiet=True) as tools:
        tier = read_tier(name, tools.library)
    if as_json:
        console.payload("tiers show", tier_json(tier))
        return
    console.fact("tier", f"{tier.name}   {tier.origin.file}")
    console.fact("about", tier.description)
    console.fact("cards", ", ".join(filter(None, (_cards(tier), _memory(tier)))))
    if _capability(tier):
        console.fact("compute", f"capability {_capability(tier)}, driver {_driver(tier)}")
    for spec in tier.specs:
        console.fact("package", _with_reason(spec.value, spec.why))
    for variable in tier.variables:
        console.fact("variable", _with_reason(f"{variable.name}={variable.value}", variable.why))
    for virtual, sourced in tier.virtual_packages:
        console.fact("assumes", _with_reason(f"{virtual}={sourced.value}", sourced.why))
    for key, value in tier.settings.get("defaults", {}).items():
        console.fact("default", f"{key}: {value}")
    for path in tier.shadows:
        console.fact("shadows", path)


@tiers.command()
@json_option
def detect(*, as_json: bool) -> None:
    """Say which tier fits this machine, and why."""
    from conda_llmenv.cli.wiring import open_tools
    from conda_llmenv.compose import read_tiers
    from conda_llmenv.hardware import choose_tier

    with open_tools(quiet=True) as tools:
        facts = tools.host()
        choice = choose_tier(facts, read_tiers(tools.library), tools.tables())
    if as_json:
        console.payload("tiers detect", {"tier": choice.name, "reason": choice.reason, "host": host_json(facts)})
        return
    console.fact("tier", f"{choice.name}, {choice.reason}")
    say_host(facts)


def say_host(facts: HostFacts) -> None:
    """Print the facts of a machine, one a line."""
    for gpu in facts.gpus:
        capability = ".".join(map(str, gpu.compute_capability)) if gpu.compute_capability else "unknown"
        memory = f"{gpu.memory_mib} MiB" if gpu.memory_mib else "unknown memory"
        console.fact("card", f"{gpu.name}, {memory}, compute capability {capability}")
    if facts.driver:
        console.fact("driver", f"{facts.driver}, CUDA up to {facts.cuda_max or 'unknown'} (by {facts.gpu_source})")
    console.fact("host", f"{facts.subdir}, glibc {facts.glibc or 'unknown'}, {facts.cpu_level or 'unknown CPU level'}")
    for problem in facts.problems:
        console.fact("note", problem)


def host_json(facts: HostFacts) -> dict[str, Any]:
    """Return the facts of a machine as they stand in a payload."""
    from msgspec import to_builtins

    facts_json: dict[str, Any] = to_builtins(facts)
    return facts_json


def tier_json(tier: Fragment) -> dict[str, Any]:
    """Return a tier as it stands in a payload."""
    gpu = tier.gpu
    return {
        "name": tier.name,
        "file": tier.origin.file,
        "description": tier.description,
        "cards": list(gpu.match) if gpu else [],
        "compute_capability": gpu.compute_capability if gpu else None,
        "memory_mib": [gpu.min_memory_mib, gpu.max_memory_mib] if gpu else [None, None],
        "driver": tier.driver.value if tier.driver else None,
        "packages": [spec.value for spec in tier.specs],
        "variables": {variable.name: variable.value for variable in tier.variables},
        "virtual_packages": {name: sourced.value for name, sourced in tier.virtual_packages},
        "defaults": dict(tier.settings.get("defaults", {})),
        "shadows": list(tier.shadows),
    }


def _cards(tier: Fragment) -> str:
    return ", ".join(tier.gpu.match) if tier.gpu and tier.gpu.match else "none"


def _driver(tier: Fragment) -> str:
    return tier.driver.value if tier.driver else ""


def _memory(tier: Fragment) -> str:
    """Return the range of card memory, such as ``60-85 GiB``."""
    if tier.gpu is None:
        return ""
    low, high = tier.gpu.min_memory_mib, tier.gpu.max_memory_mib
    if low and high:
        return f"{low // 1024}-{high // 1024} GiB"
    return f"from {low // 1024} GiB" if low else f"up to {high // 1024} GiB" if high else ""


def _capability(tier: Fragment) -> str:
    return (tier.gpu.compute_capability or "") if tier.gpu else ""


def _with_reason(text: str, why: str) -> str:
    return f"{text:<36} {why}" if why else text
