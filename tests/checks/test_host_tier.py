"""The card and the tier the environment was made for."""

from __future__ import annotations

import pytest

from conda_llmenv.checks.host_tier import CHECKS
from conda_llmenv.checks.scene import Scene
from conda_llmenv.compose import read_tiers
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import Gpu, HostFacts, Status
from tests.content.packaged import PackagedLibrary

TIERS = {tier.name: tier for tier in read_tiers(PackagedLibrary())}


@pytest.mark.parametrize(
    ("tier", "cards", "status", "says"),
    [
        ("a100", [Gpu("NVIDIA A100-SXM4-80GB", 81920, (8, 0))], Status.PASS, "what tier a100 is about"),
        ("a100", [Gpu("NVIDIA A30", 24576, (8, 0))], Status.PASS, "A30"),
        ("a100", [Gpu("NVIDIA L4", 23034, (8, 9))], Status.WARN, "NVIDIA L4 (22 GiB): no card of tier a100"),
        ("h100", [Gpu("NVIDIA H100", 81559, (9, 0)), Gpu("NVIDIA T4", 15360, (7, 5))], Status.WARN, "NVIDIA T4"),
        ("nobody", [Gpu("NVIDIA L4", 23034, (8, 9))], Status.SKIP, "tier nobody cannot be read here: it is gone"),
    ],
)
def test_another_card_than_the_tiers(tier: str, cards: list[Gpu], status: Status, says: str) -> None:
    """A card of the same capability does; another one is named with what that means, and nothing fails for it."""
    scene = Scene(
        "/env",
        HostFacts("linux-64", gpus=tuple(cards)),
        load_tables(),
        tier=tier,
        tier_layer=TIERS.get(tier, "it is gone"),
        cuda_tier=True,
    )
    found = CHECKS[0].judge(scene)
    assert found.status is status
    assert says in found.summary
