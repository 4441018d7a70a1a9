"""Tiers against the product names that drivers report, and against the tables of facts."""

from __future__ import annotations

import pytest
from packaging.version import Version

from conda_llmenv.hardware.tables import load_tables
from conda_llmenv.hardware.tiers import choose_tier
from conda_llmenv.model import Fragment, Gpu, GpuMatch, HostFacts, Sourced
from tests.content.packaged import TIERS, read

GPU_TIERS = [tier for path in TIERS if (tier := read(path)).gpu is not None]
EVERY_GPU_TIER = pytest.mark.parametrize("tier", GPU_TIERS, ids=lambda tier: tier.name)

CARDS = [
    ("Tesla T4", 15360, "t4"),
    ("NVIDIA T4G", 15360, "t4"),
    ("Tesla V100-SXM2-16GB", 16160, "v100"),
    ("Tesla V100-SXM2-32GB", 32510, "v100"),
    ("Tesla V100S-PCIE-32GB", 32768, "v100"),
    ("Quadro GV100", 32508, "v100"),
    ("NVIDIA GeForce RTX 3090", 24576, "rtx-24g"),
    ("NVIDIA GeForce RTX 3090 Ti", 24564, "rtx-24g"),
    ("NVIDIA GeForce RTX 4090", 24564, "rtx-24g"),
    ("NVIDIA GeForce RTX 4090 D", 24564, "rtx-24g"),
    ("NVIDIA A10", 23028, "rtx-24g"),
    ("NVIDIA A10G", 23028, "rtx-24g"),
    ("NVIDIA RTX A5000", 24564, "rtx-24g"),
    ("NVIDIA L4", 23034, "rtx-24g"),
    ("NVIDIA L40S", 46068, "l40s"),
    ("NVIDIA L40", 46068, "l40s"),
    ("NVIDIA RTX 6000 Ada Generation", 49140, "l40s"),
    ("NVIDIA A40", 46068, "l40s"),
    ("NVIDIA RTX A6000", 49140, "l40s"),
    ("NVIDIA A100-PCIE-40GB", 40536, "a100-40g"),
    ("A100-SXM4-40GB", 40960, "a100-40g"),
    ("NVIDIA A800 40GB Active", 40960, "a100-40g"),
    ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 40192, "a100-40g"),
    ("NVIDIA A100-SXM4-80GB", 81920, "a100"),
    ("NVIDIA A100 80GB PCIe", 81920, "a100"),
    ("NVIDIA A100-SXM-64GB", 65247, "a100"),
    ("NVIDIA A800-SXM4-80GB", 81920, "a100"),
    ("NVIDIA H100 80GB HBM3", 81559, "h100"),
    ("NVIDIA H100 PCIe", 81559, "h100"),
    ("NVIDIA H100 NVL", 95830, "h100"),
    ("NVIDIA H800", 81559, "h100"),
    ("NVIDIA H200", 143771, "h100"),
    ("NVIDIA H20", 97871, "h100"),
    ("NVIDIA H20-3e", 143771, "h100"),
    ("NVIDIA GH200 480GB", 97871, "h100"),
    ("NVIDIA B200", 183359, "b200"),
    ("NVIDIA GB200", 189471, "b200"),
    ("NVIDIA B300 SXM6 AC", 275040, "b200"),
    ("NVIDIA GeForce RTX 5090", 32607, "rtx-50"),
    ("NVIDIA GeForce RTX 5070 Ti", 16303, "rtx-50"),
    ("NVIDIA GeForce RTX 5090 Laptop GPU", 24463, "rtx-50"),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, "rtx-50"),
]


@pytest.mark.parametrize(("name", "memory_mib", "tier"), CARDS, ids=[name for name, _, _ in CARDS])
def test_a_card_gets_the_tier_written_for_it(name: str, memory_mib: int, tier: str) -> None:
    """Product names as the driver gives them: an A10 is no A100, an L4 no L40S, an H20 no H200."""
    facts = HostFacts("linux-64", driver="580.65.06", cuda_max="13.0", gpus=(Gpu(name, memory_mib),), gpu_source="nvml")
    assert choose_tier(facts, [read(path) for path in TIERS]).name == tier


def cards_of(tier: Fragment) -> GpuMatch:
    """Return which cards a GPU tier is for."""
    assert tier.gpu is not None
    return tier.gpu


def capability_of(tier: Fragment) -> float:
    """Return the compute capability a GPU tier states."""
    return float(cards_of(tier).compute_capability or "nan")


@EVERY_GPU_TIER
def test_a_tiers_capability_is_the_lowest_of_its_cards(tier: Fragment) -> None:
    """What runs on the lowest runs on all of them; checks of kernels and CUDA start from this number."""
    tables = load_tables()
    known = [found for words in cards_of(tier).match if (found := tables.capability_of(f"NVIDIA {words}"))]
    assert cards_of(tier).compute_capability == ".".join(map(str, min(known)))


@EVERY_GPU_TIER
def test_a_tier_states_the_driver_that_its_cards_and_cuda_12_need(tier: Fragment) -> None:
    """525.60.13 runs every CUDA 12; Blackwell came with CUDA 12.8, whose driver is 570.26."""
    assert isinstance(tier.driver, Sourced)
    assert tier.driver.value == (">=570.26" if capability_of(tier) >= 10 else ">=525.60.13")


@EVERY_GPU_TIER
def test_a_tier_assumes_a_cuda_that_its_driver_floor_can_run(tier: Fragment) -> None:
    """On a machine without a card the solve assumes CUDA 12 of a driver not older than the tier asks for."""
    assumed = Version(dict(tier.virtual_packages)["__cuda"].value)
    assert Version("12.8" if capability_of(tier) >= 10 else "12.0") <= assumed < Version("13")


@EVERY_GPU_TIER
def test_precision_follows_from_the_hardware(tier: Fragment) -> None:
    """Both bf16 and TF32 came with compute capability 8.0; before it they are emulated or absent."""
    ampere = capability_of(tier) >= 8
    assert tier.settings["defaults"]["precision"] == ("bf16" if ampere else "fp16")
    assert tier.settings["defaults"]["tf32"] is ampere


def test_every_tier_sets_the_same_defaults_and_a_backend() -> None:
    """A script that reads one default finds it in every tier."""
    for path in TIERS:
        settings = read(path).settings
        allocator = set() if path.stem == "cpu" else {"allocator"}
        assert set(settings["defaults"]) == {"precision", "gradient_checkpointing", "tf32", "attention"} | allocator
        assert settings["verify"]["ddp"] == ("gloo" if path.stem == "cpu" else "nccl"), path.name


def test_the_allocator_setting_reaches_old_and_new_torch() -> None:
    """PyTorch 2.9 renamed the variable; vLLM and older releases look at the old name only."""
    for tier in GPU_TIERS:
        values = {variable.name: variable.value for variable in tier.variables}
        assert values["PYTORCH_ALLOC_CONF"] == values["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True", (
            tier.name
        )
