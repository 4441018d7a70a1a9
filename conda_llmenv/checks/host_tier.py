"""The cards here are those that the environment's tier is about."""

from __future__ import annotations

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware.tiers import described, fits_tier
from conda_llmenv.model import Finding, Level, Status


def _tier_card(scene: Scene) -> Finding:
    tier = scene.tier_layer
    if tier is None or not scene.cuda_tier:
        return Finding(Status.SKIP, "the environment was made for no tier of cards")
    if isinstance(tier, str):
        return Finding(Status.SKIP, f"tier {scene.tier} cannot be read here: {tier}")
    others = [gpu for gpu in scene.host.gpus if not fits_tier(gpu, tier, scene.tables)]
    names = ", ".join(dict.fromkeys(map(described, others or scene.host.gpus)))
    if not others:
        return Finding(Status.PASS, f"{names}: what tier {tier.name} is about", names)
    return Finding(
        Status.WARN,
        f"{names}: no card of tier {tier.name}, whose precision, memory and build settings are for others",
        names,
        f"a card of tier {tier.name}",
        f"`llmenv tiers detect` names the tier for this machine, `llmenv tiers show {tier.name}` what this one does",
    )


CHECKS = (
    Check(
        id="tier-card",
        title="the card is one of the tier",
        group="host",
        level=Level.QUICK,
        judge=_tier_card,
        gpu=True,
    ),
)
