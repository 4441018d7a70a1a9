"""Every tier with every recipe, composed as `llmenv compose` does; nothing is solved."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.compose import ComposeRequest, compose
from conda_llmenv.errors import ConflictError
from conda_llmenv.model import EnvSpec
from tests.content.packaged import FRAGMENTS, RECIPES, TIERS, PackagedLibrary

TUTORIAL = """\
channels: [pytorch, conda-forge, defaults]
dependencies: [python=3.9, pytorch=2.0.1, torchvision=0.15.2, torchaudio=2.0.2, cudatoolkit=11.8, nccl, openmpi, pip]
"""
"""The shape of a widely copied tutorial environment."""

TIER_NAMES = [path.stem for path in TIERS]
RECIPE_NAMES = [path.stem for path in RECIPES]
GPU_TIERS = [name for name in TIER_NAMES if name != "cpu"]
EVERY_TIER = pytest.mark.parametrize("tier", TIER_NAMES)
EVERY_RECIPE = pytest.mark.parametrize("recipe", RECIPE_NAMES)


def composed(tier: str, recipe: str) -> EnvSpec:
    """Return the composed environment of a tier and a recipe."""
    return compose(ComposeRequest(tier=tier, recipe=recipe), PackagedLibrary())


def with_fragment(tier: str, fragment: str) -> EnvSpec:
    """Return what `--tier TIER --recipe minimal -f FRAGMENT` composes."""
    path = next(path for path in FRAGMENTS if path.stem == fragment)
    return compose(ComposeRequest(tier=tier, recipe="minimal", files=(path,)), PackagedLibrary())


@EVERY_TIER
@EVERY_RECIPE
def test_every_tier_composes_with_every_recipe(tier: str, recipe: str) -> None:
    """No two packaged files contradict each other or call for a warning; conda-forge is the only channel."""
    spec = composed(tier, recipe)
    assert spec.notices == ()
    assert [channel.name for channel in spec.channels] == ["conda-forge"]
    assert spec.nodefaults is not None
    assert spec.channel_priority == "strict"
    assert spec.spec("python") is not None
    assert spec.spec("pip") is not None


@EVERY_RECIPE
def test_the_cpu_tier_drops_what_only_a_gpu_needs(recipe: str) -> None:
    """`--tier cpu` keeps plain pytorch, which is the CPU build where there is no driver, and nothing of CUDA."""
    spec = composed("cpu", recipe)
    kept = {merged.name for merged in spec.specs if merged.texts}
    assert not kept & {"pytorch-gpu", "cuda-version", "cuda-nvcc", "nccl"}
    assert ("pytorch" in kept) is (recipe != "minimal")


@pytest.mark.parametrize("tier", GPU_TIERS)
@EVERY_RECIPE
def test_a_gpu_tier_forces_a_cuda_build_of_pytorch(tier: str, recipe: str) -> None:
    """Whatever the solve prefers, it cannot end with a CPU build: `pytorch-gpu` depends on a CUDA one."""
    spec = composed(tier, recipe)
    assert (spec.spec("pytorch-gpu") is not None) is (recipe != "minimal")


@EVERY_TIER
def test_the_user_site_is_shut_out(tier: str) -> None:
    """A numpy in ~/.local never shadows the environment's own."""
    spec = composed(tier, "minimal")
    assert {variable.name: variable.value for variable in spec.variables}["PYTHONNOUSERSITE"] == "1"


@EVERY_RECIPE
def test_what_a_recipe_promises_is_what_is_imported(recipe: str) -> None:
    """The imports to check are the recipe's own, or those of the fragments it stacks, and never none."""
    assert composed("a100", recipe).verify["imports"]


@pytest.mark.parametrize("fragment", [path.stem for path in FRAGMENTS])
@pytest.mark.parametrize("tier", ["v100", "a100"])
def test_every_fragment_can_be_added_to_a_gpu_tier(tier: str, fragment: str) -> None:
    """`-f FRAGMENT` by itself, with everything it extends."""
    assert with_fragment(tier, fragment).specs


def test_wheels_without_code_for_the_card_are_refused_at_once() -> None:
    """CUDA 12.6 has no code for Blackwell: the tier and the fragment that picks the wheels say so at file and line."""
    with pytest.raises(ConflictError) as caught:
        with_fragment("b200", "pytorch-wheels-cu126")
    told = str(caught.value.details)
    assert "envs/tiers/b200.yml" in told
    assert "pytorch-wheels-cu126.yml" in told
    assert with_fragment("b200", "pytorch-wheels-cu128").specs


@pytest.mark.parametrize("fragment", ["pytorch", "huggingface", "peft"])
def test_a_fragment_added_after_the_cpu_tier_asks_for_no_gpu(fragment: str) -> None:
    """A project file that extends pytorch comes after the tier, which can drop nothing there, so nothing is forced."""
    spec = with_fragment("cpu", fragment)
    assert spec.spec("pytorch") is not None
    assert spec.spec("pytorch-gpu") is None


@pytest.mark.parametrize("tier", ["v100", "a100"])
def test_an_old_environment_of_ones_own_composes_with_the_tier_of_a_card_that_runs_it(
    tier: str, tmp_path: Path
) -> None:
    """A tutorial file with Python 3.9 and CUDA 11.8 meets no bound of ours: the card runs it, so the tier lets it.

    What is wrong with such a file (a CPU build beside `cudatoolkit`) is found by solving it, not hidden by a conflict.
    """
    file = tmp_path / "environment.yml"
    file.write_text(TUTORIAL)
    spec = compose(ComposeRequest(tier=tier, files=(file,)), PackagedLibrary())
    kept = {merged.name for merged in spec.specs if merged.texts}
    assert {"pytorch", "cudatoolkit"} <= kept
    assert not kept & {"cuda-version", "pytorch-gpu"}


@pytest.mark.parametrize("variant", ["cpu", "cu126", "cu128", "cu130"])
def test_wheels_take_torch_from_the_index_of_their_variant(variant: str) -> None:
    """The pip section owns torch, from PyTorch's index, and conda's side has none."""
    spec = with_fragment("a100", f"pytorch-wheels-{variant}")
    assert [option.text for option in spec.pip.options] == [
        f"--extra-index-url https://download.pytorch.org/whl/{variant}"
    ]
    assert [requirement.name for requirement in spec.pip.requirements] == ["torch"]
    assert spec.spec("pytorch") is None


def test_flash_attn_from_source_is_built_after_torch_and_without_isolation() -> None:
    """Its set-up imports torch: flash-attention#246 and pixi#3223 are what happens otherwise."""
    spec = with_fragment("a100", "flash-attn-wheels")
    assert spec.pip.no_build_isolation == ("flash-attn",)
