"""The machine an environment has to run on: this one, or the one a tier stands for."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from packaging.version import Version

from conda_llmenv.hardware.tables import Capability, Tables
from conda_llmenv.hardware.tiers import (
    capability_of,
    dotted,
    fits_tier,
    is_gpu_tier,
    lowest_card,
    tier_capability,
)
from conda_llmenv.hardware.versions import parse
from conda_llmenv.hardware.virtual import is_assumed
from conda_llmenv.model import EnvSpec, Gpu, HostFacts, Origin, VirtualPackage


class Target(Struct, frozen=True):
    """What the plan is judged against.

    Attributes:
        wants_gpu: True for a tier with cards, False for the CPU tier, None without a tier.
        label: ``tier a100``, or ``this machine``.
        card: the card in words, with its compute capability; empty if there is none.
        capability: compute capability the environment has to serve.
        assumed: no card of the tier was seen here.
        driver: the driver of this machine where it counts, else None.
        cuda: newest CUDA that the driver runs in full.
        driver_assumed: the tier alone says which driver; nothing was measured and no override was set.
        driver_words: the driver, or what is assumed about it, in words.
        origins: lines of the tier.
    """

    wants_gpu: bool | None
    label: str
    card: str
    capability: Capability | None
    assumed: bool
    driver: Version | None
    cuda: Version | None
    driver_assumed: bool
    driver_words: str
    origins: tuple[Origin, ...]


def target_of(
    spec: EnvSpec,
    facts: HostFacts,
    virtual: Sequence[VirtualPackage],
    tables: Tables,
    *,
    assumed: bool | None = None,
) -> Target:
    """Return the machine that an environment is for.

    A card of the tier that is here wins over what the tier says. The driver of this machine counts unless a person's
    ``CONDA_OVERRIDE_CUDA`` speaks for another one; ``assumed`` overrides the finding whether a card of the tier is
    here.
    """
    tier = spec.tier
    here = [gpu for gpu in facts.gpus if tier is None or fits_tier(gpu, tier, tables)]
    if assumed or (tier is not None and not is_gpu_tier(tier)):
        here = []
    found, card = _card(spec, here, tables)
    driver, cuda, words = _driver(facts, virtual)
    return Target(
        wants_gpu=None if tier is None else is_gpu_tier(tier),
        label=f"tier {tier.name}" if tier else "this machine",
        card=card,
        capability=found,
        assumed=not here if assumed is None else assumed,
        driver=driver,
        cuda=cuda,
        driver_assumed=any(package.name == "__cuda" and is_assumed(package) for package in virtual),
        driver_words=words,
        origins=(tier.origin,) if tier else (),
    )


def _card(spec: EnvSpec, here: Sequence[Gpu], tables: Tables) -> tuple[Capability | None, str]:
    if here:
        card = lowest_card(here, tables)
        found = capability_of(card, tables)
        return found, f"{card.name} (compute capability {dotted(found)})" if found else card.name
    found = tier_capability(spec.tier, tables) if spec.tier else None
    if spec.tier is None or found is None:
        return None, ""
    return found, f"a card of tier {spec.tier.name} (compute capability {dotted(found)})"


def _driver(facts: HostFacts, virtual: Sequence[VirtualPackage]) -> tuple[Version | None, Version | None, str]:
    offered = next((package for package in virtual if package.name == "__cuda"), None)
    cuda = parse(offered.version) if offered else None
    if offered is None or cuda is None:
        return None, None, "no driver"
    driver = parse(facts.driver)
    if driver and facts.cuda_max == offered.version:
        return driver, cuda, f"driver {facts.driver} (CUDA up to {cuda})"
    return None, cuda, f"__cuda={offered.version} ({offered.reason})"
