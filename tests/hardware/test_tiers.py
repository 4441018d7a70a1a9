"""The choice of a tier and its reason."""

from __future__ import annotations

import pytest

from conda_llmenv.hardware import choose_tier
from conda_llmenv.model import Gpu, HostFacts
from tests.hardware.building import LOGIN_NODE, host, tier

RTX_24G = """\
llmenv:
  gpu: {match: ["RTX 3090", "RTX 4090", "A10", "L4"], compute_capability: "8.6", min_memory_gib: 20, max_memory_gib: 26}
"""
A100_40G = 'llmenv: {gpu: {match: ["A100"], compute_capability: "8.0", min_memory_gib: 30, max_memory_gib: 48}}\n'
A100_80G = (
    'llmenv: {gpu: {match: ["A100", "A800"], compute_capability: "8.0", min_memory_gib: 60, max_memory_gib: 85}}\n'
)
L40S = 'llmenv: {gpu: {match: ["L40S"], compute_capability: "8.9"}}\n'

TIERS = [
    tier("rtx-24g", RTX_24G),
    tier("a100-40g", A100_40G),
    tier("a100", A100_80G),
    tier("l40s", L40S),
    *(tier(name) for name in ("h100", "v100", "t4", "rtx-50", "cpu")),
]


def card(name: str, gib: float, capability: tuple[int, int] | None = None) -> Gpu:
    """Return a card with its memory in GiB."""
    return Gpu(name, int(gib * 1024), capability)


@pytest.mark.parametrize(
    ("gpu", "chosen"),
    [
        (card("NVIDIA A100-SXM4-80GB", 80, (8, 0)), "a100"),
        (card("NVIDIA A100-PCIE-40GB", 40, (8, 0)), "a100-40g"),
        (card("NVIDIA A800-SXM4-80GB", 80, (8, 0)), "a100"),
        (card("NVIDIA A10", 22.5, (8, 6)), "rtx-24g"),
        (card("NVIDIA L4", 22.5, (8, 9)), "rtx-24g"),
        (card("NVIDIA L40S", 45, (8, 9)), "l40s"),
        (card("NVIDIA GeForce RTX 5090", 32, (12, 0)), "rtx-50"),
        (card("NVIDIA H100 80GB HBM3", 80, (9, 0)), "h100"),
        (card("Tesla T4", 15), "t4"),
    ],
)
def test_by_name_and_memory(gpu: Gpu, chosen: str) -> None:
    """The name decides, as whole words; memory tells tiers of one name apart."""
    choice = choose_tier(host("550.54.15", "12.4", gpu), TIERS)
    assert choice.name == chosen
    assert gpu.name in choice.reason
    assert not choice.assumed


def test_no_card_is_the_cpu_tier() -> None:
    """A login node gets the CPU tier, and the reason says there is nothing here."""
    choice = choose_tier(LOGIN_NODE, TIERS)
    assert (choice.name, choice.gpu_count) == ("cpu", 0)
    assert "no NVIDIA driver" in choice.reason


def test_a_driver_without_cards_is_said() -> None:
    """In a container that hides the cards, the driver is the clue."""
    choice = choose_tier(host("550.54.15", "12.4"), TIERS)
    assert choice.name == "cpu"
    assert "550.54.15 is here but no card is visible" in choice.reason


def test_mixed_cards_take_the_lowest_capability() -> None:
    """What runs on the older card runs on both (CEP 46; 41)."""
    cards = (card("NVIDIA H100 80GB HBM3", 80, (9, 0)), card("Tesla V100-SXM2-32GB", 32, (7, 0)))
    choice = choose_tier(host("535.104.05", "12.2", *cards), TIERS)
    assert (choice.name, choice.gpu_count) == ("v100", 2)
    assert "mixed cards" in choice.reason
    assert "H100" in choice.reason


def test_equal_cards_are_counted() -> None:
    """Four of a kind are no mixture."""
    choice = choose_tier(host("550.54.15", "12.4", *[card("NVIDIA A100-SXM4-80GB", 80, (8, 0))] * 4), TIERS)
    assert choice.gpu_count == 4
    assert "4 of them" in choice.reason
    assert "mixed" not in choice.reason


def test_a_card_no_tier_names_goes_by_capability() -> None:
    """A30 is Ampere like the A100: the tier of its capability and nearest memory, and the reason says so."""
    choice = choose_tier(host("550.54.15", "12.4", card("NVIDIA A30", 24, (8, 0))), TIERS)
    assert choice.name == "a100-40g"
    assert "no tier names NVIDIA A30" in choice.reason


def test_a_card_no_tier_fits_gets_the_nearest_below() -> None:
    """A GB10 (12.1) runs what is built for 12.0."""
    choice = choose_tier(host("580.95.05", "13.0", card("NVIDIA GB10", 119, (12, 1))), TIERS)
    assert choice.name == "rtx-50"
    assert "12.1" in choice.reason
    assert "nearest" in choice.reason


def test_a_mig_slice_is_nearest_by_memory() -> None:
    """A slice carries the card's name but not its memory; the smaller tier is nearer, and that is said."""
    choice = choose_tier(host("550.54.15", "12.4", card("NVIDIA A100-SXM4-80GB MIG slice", 9.6, (8, 0))), TIERS)
    assert choice.name == "a100-40g"
    assert "nearest by memory" in choice.reason


def test_unknown_card_without_capability() -> None:
    """Nothing known means a guess, and the word is used."""
    choice = choose_tier(host("999.1", "13.2", Gpu("NVIDIA Q1")), TIERS)
    assert "guess" in choice.reason


def test_without_gpu_tiers_a_card_stays_cpu() -> None:
    """A project that knows only a CPU tier gets it, and hears about the card."""
    facts: HostFacts = host("550.54.15", "12.4", card("NVIDIA A100-SXM4-80GB", 80, (8, 0)))
    choice = choose_tier(facts, [tier("cpu")])
    assert choice.name == "cpu"
    assert "although this machine has" in choice.reason
