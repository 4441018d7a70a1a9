"""What a plan says about cards, drivers and builds, by whole runs on recorded machines and recorded channels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RECORDED
from tests.program import Ended, Program


@pytest.fixture
def recorded(llmenv: Program, tmp_path: Path) -> Program:
    """The program where every channel name leads to recorded metadata."""
    condarc = tmp_path / "condarc.yml"
    alias = RECORDED.resolve().as_uri()
    condarc.write_text(f"channel_alias: {alias}\ndefault_channels: [{alias}/defaults]\n")
    del llmenv.environ["CONDA_CHANNEL_ALIAS"]
    llmenv.environ["CONDARC"] = str(condarc)
    return llmenv


def machine(folder: Path, text: str, file: str = "nvidia-smi.csv") -> dict[str, str]:
    """Record what nvidia-smi says on a machine, and return the variable that names the recording."""
    (folder / "run" / "llmenv").mkdir(parents=True)
    (folder / "run" / "llmenv" / "host.json").write_text('{"subdir": "linux-64", "glibc": "2.35"}')
    (folder / "run" / "llmenv" / file).write_text(text)
    return {"LLMENV_HOST_ROOT": str(folder)}


def refused(ended: Ended, *told: str) -> None:
    """A plan that was refused, saying all of that."""
    assert ended.code == 1, ended.text
    for text in told:
        assert text in ended.stderr
    assert "Traceback" not in ended.text


@pytest.mark.channels
def test_a_cuda_build_for_the_cpu_tier_is_refused(recorded: Program, prefix: Path) -> None:
    """conda-libmamba-solver#131, mamba#2931: the build string, the channel that won, before anything is linked."""
    recorded.write(
        "team.yml",
        "channels: [pytorch, nvidia, conda-forge]\ndependencies: [python=3.9, pytorch=2.0.1, pytorch-cuda=11.8]\n",
    )
    ended = recorded("create", "--tier", "cpu", "-f", "team.yml", "-p", prefix)
    refused(ended, "pytorch 2.0.1 py3.9_cuda11.8_cudnn8.7.0_0", "pytorch", "team.yml:")
    assert "link: " not in ended.stderr
    assert not prefix.parent.exists()


@pytest.mark.channels
def test_a_cpu_build_for_a_gpu_tier_is_refused(recorded: Program, prefix: Path) -> None:
    """conda-libmamba-solver#646, conda#14761: the build string and its channel, before anything is linked."""
    recorded.write("team.yml", "channels: [pytorch, conda-forge]\ndependencies: [python=3.9, pytorch=2.0.1]\n")
    ended = recorded("create", "--tier", "a100", "-f", "team.yml", "-p", prefix)
    refused(ended, "py3.9_cpu_0", "pytorch", "team.yml:2")
    assert "link: " not in ended.stderr
    assert not prefix.parent.exists()


@pytest.mark.channels
def test_who_says_cpu_gets_cpu(recorded: Program) -> None:
    """young-geng/EasyLM: a CPU package asked for by name is what the person wants, on a GPU tier too."""
    recorded.write("team.yml", "dependencies:\n    - python=3.12\n    - pytorch-cpu\n")
    ended = recorded("create", "--tier", "a100", "-f", "team.yml", "--dry-run", "--json")
    build = next(one["build"] for one in ended.result()["packages"] if one["name"] == "pytorch")
    assert build.startswith("cpu")


@pytest.mark.channels
def test_a_login_node_is_skipped_not_passed(recorded: Program) -> None:
    """pixi#480, ReLERNN#75: no card was seen here, so the check of the card is skipped and not called good."""
    plan = recorded("create", "--tier", "h100", "--dry-run", "--json", "pytorch-gpu", "python=3.12").result()
    status = {check["check"]: check["status"] for check in plan["checks"]}
    assert status["card"] == "skip"
    assert "pass" in status.values(), "the build was judged all the same"


@pytest.mark.parametrize(
    ("card", "cuda", "told"),
    [
        ("NVIDIA A100-SXM4-80GB, 81920, 8.0, 470.82.01", "12.4", ("470.82.01", "11.4", "525.60.13")),
        ("NVIDIA A100-SXM4-80GB, 81920, 8.0, 535.104.05", "13.0", ("535.104.05", "12.2", "580")),
        ("Tesla T4, 15360, 7.5, 418.39", "11.8", ("418.39", "450.80.02")),
    ],
)
def test_a_driver_too_old_for_the_cuda(
    llmenv: Program, tmp_path: Path, card: str, cuda: str, told: tuple[str, ...]
) -> None:
    """pytorch#4546, #37320, nccl-tests#98: the newest CUDA it runs and the smallest driver needed, before a solve."""
    llmenv.write("team.yml", f"dependencies:\n- python\n- cuda-version={cuda}\n")
    host = machine(tmp_path / "host", f"{card}\n")
    ended = llmenv("create", "--tier", "auto", "-f", "team.yml", "--dry-run", **host)
    refused(ended, "team.yml:3", *told)
    assert "solve: " not in ended.stderr


def test_a_newer_minor_is_a_warning(llmenv: Program, tmp_path: Path) -> None:
    """nccl-tests#98: within a major CUDA's minor-version compatibility holds; said, and not refused."""
    llmenv.write("team.yml", "dependencies:\n- cuda-version=12.9\n")
    host = machine(tmp_path / "host", "NVIDIA A100-SXM4-80GB, 81920, 8.0, 550.54.15\n")
    plan = llmenv("create", "--tier", "auto", "-f", "team.yml", "--dry-run", "--json", **host).result()
    warned = [check for check in plan["checks"] if check["status"] == "warn"]
    assert any("12.9" in check["summary"] and "550.54.15" in check["summary"] for check in warned)


@pytest.mark.parametrize(
    ("gpu", "index", "told"),
    [
        ("NVIDIA GeForce RTX 5090, 32607, 12.0, 575.57.08", "cu126", ("12.0", "cu128")),
        ("Tesla V100-SXM2-32GB, 32768, 7.0, 580.65.06", "cu130", ("7.0", "cu126")),
        ("NVIDIA H100 80GB HBM3, 81559, 9.0, 580.65.06", "cu126", ()),
        ("NVIDIA A10, 23028, 8.6, 580.65.06", "cu126", ()),
    ],
)
def test_wheels_without_code_for_the_card(
    llmenv: Program, tmp_path: Path, gpu: str, index: str, told: tuple[str, ...]
) -> None:
    """pytorch#90761, #150733, uv#14742: no kernels for the card is a refusal with the index that has them."""
    llmenv.write(
        "team.yml",
        "dependencies:\n- python\n- pip\n- pip:\n"
        f"  - --index-url https://download.pytorch.org/whl/{index}\n  - torch==2.11.0\n",
    )
    ended = llmenv("create", "--tier", "auto", "-f", "team.yml", "--dry-run", **machine(tmp_path / "host", f"{gpu}\n"))
    assert ended.code == 1
    if told:
        refused(ended, "team.yml:6", *told)
        assert "solve: " not in ended.stderr
    else:
        assert "no code for" not in ended.stderr, "8.6 runs the code of 8.0, and 9.0 has its own"
        assert "torch could not be resolved" in ended.stderr, "no index is reached here; the plan came that far"


SMI = {
    "new words in the header": "name, memory.total [MiB], compute_cap, driver_version\n"
    "NVIDIA A10, 23028 MiB, 8.6, 550.54.15\n",
    "one driver line for each card": "NVIDIA A10, 23028, 8.6, 550.54.15\n" * 4,
    "mixed cards": "NVIDIA H100 80GB HBM3, 81559, 9.0, 550.54.15\nNVIDIA A10, 23028, 8.6, 550.54.15\n",
    "a field that is not available": "NVIDIA A10, [N/A], 8.6, 550.54.15\n",
}


@pytest.mark.parametrize("text", SMI.values(), ids=SMI)
def test_whatever_nvidia_smi_prints(llmenv: Program, tmp_path: Path, text: str) -> None:
    """gkyle/startrails#18, uv#14647: every spelling is read; of mixed cards the lowest capability decides (CEP 46)."""
    host = machine(tmp_path / "host", text)
    result = llmenv("tiers", "detect", "--json", **host).result()
    assert result["tier"] == "rtx-24g", result
    plan = llmenv("create", "--dry-run", "--json", "confused", **host).result()
    virtual = {package["name"]: package["version"] for package in plan["virtual_packages"]}
    assert virtual["__cuda"] == "12.4"
    assert virtual["__cuda_arch"] == "8.6"


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("No devices were found\n", "nvidia-smi.csv"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "nvidia-smi.csv"),
        ("<nvidia_smi_log><driver_version>550.54.15</driver_version></nvidia_smi_log>", "nvidia-smi.xml"),
    ],
)
def test_no_devices_is_said_and_is_the_cpu_tier(llmenv: Program, tmp_path: Path, text: str, file: str) -> None:
    """uv#14647, MIG and login nodes: no card is invented, nothing crashes."""
    ended = llmenv("tiers", "detect", **machine(tmp_path / "host", text, file))
    assert ended.code == 0, ended.text
    assert "tier      cpu" in ended.stdout
    assert "Traceback" not in ended.text


def test_a_renamed_key_does_not_lose_the_card(llmenv: Program, tmp_path: Path) -> None:
    """gkyle/startrails#18: a report with keys of another name still has a card, and the problem is told."""
    report = (
        "<?xml version='1.0' ?><nvidia_smi_log><driver_version>550.54.15</driver_version><cuda_version>12.4"
        "</cuda_version><attached_gpus>1</attached_gpus><gpu id='00000000:00:04.0'><product_title>NVIDIA A10"
        "</product_title></gpu></nvidia_smi_log>"
    )
    ended = llmenv("info", **machine(tmp_path / "host", report, "nvidia-smi.xml"))
    assert ended.code == 0, ended.text
    assert "card" in ended.stdout
    assert "product_title" in ended.text


def test_the_fake_machine_is_not_this_one(llmenv: Program, tmp_path: Path) -> None:
    """What the tests above stand on: a recorded machine without a card has none, whatever is in this one."""
    result = llmenv("tiers", "detect", "--json", **machine(tmp_path / "host", "")).result()
    assert result["tier"] == "cpu"
