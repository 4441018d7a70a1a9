"""Plans on recorded metadata of the real channels: what cannot work is refused with the change that does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RECORDED
from tests.program import Program

pytestmark = pytest.mark.channels

TUTORIAL = """\
name: blog
channels: [pytorch, conda-forge, defaults]
dependencies:
  - python=3.9
  - pytorch=2.0.1
  - torchvision=0.15.2
  - torchaudio=2.0.2
  - cudatoolkit=11.8
  - nccl
  - openmpi
  - pip
  - pip: [torchmetrics, tensorboard, wandb, psutil]
"""


@pytest.fixture
def recorded(llmenv: Program, tmp_path: Path) -> Program:
    """The program where every channel name leads to recorded metadata."""
    condarc = tmp_path / "condarc.yml"
    alias = RECORDED.resolve().as_uri()
    condarc.write_text(f"channel_alias: {alias}\ndefault_channels: [{alias}/defaults]\n")
    del llmenv.environ["CONDA_CHANNEL_ALIAS"]
    llmenv.environ["CONDARC"] = str(condarc)
    return llmenv


def machine(folder: Path, gpu: str = "", driver: str = "") -> dict[str, str]:
    """Write a machine's facts into a folder that stands for its root, and return the variable that names it."""
    (folder / "run" / "llmenv").mkdir(parents=True)
    (folder / "run" / "llmenv" / "host.json").write_text('{"subdir": "linux-64", "glibc": "2.35"}')
    if gpu:
        (folder / "run" / "llmenv" / "nvidia-smi.csv").write_text(f"{gpu}, {driver}\n")
    return {"LLMENV_HOST_ROOT": str(folder)}


def test_the_tutorials_cpu_build_is_refused_with_the_fix(recorded: Program) -> None:
    """A widely copied tutorial file solves, to a CPU build beside cudatoolkit; every other tool installs that."""
    recorded.write("environment.yml", TUTORIAL)
    ended = recorded("create", "--tier", "a100", "-f", "environment.yml", "--dry-run")
    assert ended.code == 1
    assert "tier a100 would get a CPU build of pytorch" in ended.stderr
    assert "pytorch 2.0.1 py3.9_cpu_0" in ended.stderr
    assert "environment.yml:2   channels: [pytorch, nvidia, conda-forge]" in ended.stderr
    assert "environment.yml:8   pytorch-cuda=11.8" in ended.stderr
    assert "then  pytorch 2.0.1 py3.9_cuda11.8_cudnn8.7.0_0" in ended.stderr


def test_the_tutorials_fix_works_when_applied(recorded: Program) -> None:
    """The printed change, made by hand, plans to the build it promised."""
    fixed = TUTORIAL.replace("[pytorch, conda-forge, defaults]", "[pytorch, nvidia, conda-forge]")
    recorded.write("environment.yml", fixed.replace("cudatoolkit=11.8", "pytorch-cuda=11.8").split("  - pip:")[0])
    result = recorded("create", "--tier", "a100", "-f", "environment.yml", "--dry-run", "--json").result()
    pytorch = next(package for package in result["packages"] if package["name"] == "pytorch")
    assert pytorch["build"] == "py3.9_cuda11.8_cudnn8.7.0_0"


def test_the_half_fixed_tutorial_is_explained(recorded: Program) -> None:
    """With ``pytorch-cuda`` added but ``cudatoolkit`` left, the three specs, the channel rule and the fix are named."""
    half = TUTORIAL.replace("[pytorch, conda-forge, defaults]", "[pytorch, nvidia, conda-forge]")
    recorded.write("environment.yml", half.replace("  - nccl\n", "  - pytorch-cuda=11.8\n  - nccl\n"))
    ended = recorded("create", "--tier", "a100", "-f", "environment.yml", "--dry-run")
    assert ended.code == 1
    for place in (
        "cudatoolkit=11.8 (environment.yml:8)",
        "pytorch-cuda=11.8 (environment.yml:9)",
        "nccl (environment.yml:10)",
    ):
        assert place in ended.stderr
    assert "strict channel priority" in ended.stderr
    assert "environment.yml:8   remove cudatoolkit" in ended.stderr
    assert "then  pytorch 2.0.1 py3.9_cuda11.8_cudnn8.7.0_0" in ended.stderr


def test_a_wheel_for_a_newer_driver_is_refused_before_anything_is_fetched(recorded: Program, tmp_path: Path) -> None:
    """``pip install torch`` of 2026 on a 535 driver gives CUDA 13, which that driver cannot run."""
    host = machine(tmp_path / "host", "NVIDIA A100-SXM4-80GB, 81920, 8.0", "535.104.05")
    recorded.write("team.yml", "dependencies:\n- python=3.12\n- pip\n- pip:\n  - torch==2.13.0\n")
    ended = recorded("create", "--tier", "auto", "-f", "team.yml", "--dry-run", **host)
    assert ended.code == 1
    assert "535.104.05" in ended.stderr
    assert "team.yml:5" in ended.stderr
    assert "cu126" in ended.stderr
    assert "https://download.pytorch.org/whl/cu126" in ended.stderr


def test_cuda_too_old_for_the_card_is_refused_before_the_solve(recorded: Program) -> None:
    """RosettaCommons/RFdiffusion asks for CUDA 11.1: right for an A100, without code for an H100."""
    recorded.write("team.yml", "channels: [conda-forge]\ndependencies:\n- python=3.9\n- cudatoolkit=11.1\n")
    ended = recorded("create", "--tier", "h100", "-f", "team.yml", "--dry-run")
    assert ended.code == 1
    assert "team.yml:4" in ended.stderr
    assert "11.8" in ended.stderr
    assert "solve: " not in ended.stderr
    passed = recorded("create", "--tier", "a100", "-f", "team.yml", "--dry-run")
    assert "no channel has cudatoolkit" in passed.stderr, "the card is no obstacle: the recorded channels have no 11.1"


def test_a_login_node_solves_as_the_tier_assumes(recorded: Program) -> None:
    """pixi#480, #3949: without a GPU the tier's value stands in, the person's own wins, and a slip is noticed."""
    arguments = ("create", "--tier", "h100", "--dry-run", "--json", "pytorch-gpu", "python=3.12")
    cuda = {
        package["name"]: (package["version"], package["reason"])
        for package in recorded(*arguments).result()["virtual_packages"]
    }["__cuda"]
    assert "h100.yml:" in cuda[1]
    own = recorded(*arguments, CONDA_OVERRIDE_CUDA="12.2").result()["virtual_packages"]
    assert {"name": "__cuda", "version": "12.2", "reason": "CONDA_OVERRIDE_CUDA"} in own
    slip = recorded(*arguments, CONDA_CUDA_OVERRIDE="12.2")
    notices = slip.result()["notices"]
    assert any("CONDA_OVERRIDE_CUDA" in notice["message"] for notice in notices)


def test_a_cpu_tier_never_gets_a_cuda_build(recorded: Program) -> None:
    """conda-libmamba-solver#646 and its like, in reverse: the build kind is looked at, not the exit status."""
    result = recorded(
        "create", "--tier", "cpu", "--dry-run", "--json", "pytorch", "python=3.12", CONDA_OVERRIDE_CUDA=""
    ).result()
    build = next(package["build"] for package in result["packages"] if package["name"] == "pytorch")
    assert build.startswith("cpu")


@pytest.mark.parametrize(
    ("gpu", "driver", "tier"),
    [
        ("NVIDIA A100-SXM4-80GB, 81920, 8.0", "550.54.15", "a100"),
        ("NVIDIA A100-SXM4-40GB, 40960, 8.0", "550.54.15", "a100-40g"),
        ("NVIDIA H100 80GB HBM3, 81559, 9.0", "550.54.15", "h100"),
        ("NVIDIA A10, 23028, 8.6", "550.54.15", "rtx-24g"),
        ("NVIDIA L4, 23034, 8.9", "550.54.15", "rtx-24g"),
        ("NVIDIA L40S, 46068, 8.9", "550.54.15", "l40s"),
        ("Tesla T4, 15360, 7.5", "535.104.05", "t4"),
        ("Tesla V100-SXM2-32GB, 32768, 7.0", "535.104.05", "v100"),
        ("NVIDIA B200, 183359, 10.0", "580.65.06", "b200"),
        ("NVIDIA GeForce RTX 5090, 32607, 12.0", "575.57.08", "rtx-50"),
    ],
)
def test_the_right_tier_is_detected(recorded: Program, tmp_path: Path, gpu: str, driver: str, tier: str) -> None:
    """The card's own name decides, and the reason names it."""
    result = recorded("tiers", "detect", "--json", **machine(tmp_path / "host", gpu, driver)).result()
    assert result["tier"] == tier
    assert gpu.split(",", maxsplit=1)[0] in result["reason"]


def test_every_layer_conflict_is_told_at_once(recorded: Program) -> None:
    """Two files that cannot agree: every package, channel pair and line in one report, and nothing is solved."""
    recorded.write("a.yml", "channels: [nvidia, pytorch]\ndependencies:\n- python\n- numpy =1.26\n- nccl=2.12.12.1\n")
    recorded.write("b.yml", "channels: [pytorch, nvidia]\ndependencies:\n- python=3.11\n- numpy >=2\n- nccl>=2.18\n")
    ended = recorded("create", "-n", "x", "-f", "a.yml", "-f", "b.yml")
    assert ended.code == 2
    for told in ("numpy", "nccl", "a.yml:4", "b.yml:4", "a.yml:5", "b.yml:5", "a.yml:1", "b.yml:1"):
        assert told in ended.stderr
    assert "solve: " not in ended.stderr
