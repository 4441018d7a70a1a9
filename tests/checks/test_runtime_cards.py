"""torch's CUDA against the driver, and its code against each card."""

from __future__ import annotations

import pytest

from conda_llmenv.checks.runtime_cards import Card, judge_card
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Gpu, HostFacts, Status
from tests.checks.runtime_scenes import installed, judged, machine, scene, torch

BUILDS = {
    "2.0.1": "11.7",
    "2.3.1": "12.1",
    "2.5.1": "12.4",
    "2.7.1": "12.6",
    "2.8.0": "12.8",
    "2.13.0": "13.0",
    "2.15.0": "13.2",
}

RUNS = {
    "470.256.02": "wFFFFFF",
    "525.147.05": ".wwwwFF",
    "570.124.06": ".....FF",
    "580.95.05": "......w",
    "595.71.05": ".......",
}
"""For each driver what becomes of each build: a point passes, w warns, F fails."""

WORDS = {".": Status.PASS, "w": Status.WARN, "F": Status.FAIL}

X86_126 = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"
X86_128_OLD = "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
X86_128 = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
X86_130 = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 compute_120"
ARM_126 = "sm_80 sm_90"
ARM_130 = "sm_80 sm_90 sm_100 sm_110 sm_120"
CONDA_126 = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 compute_90"


def drive(driver: str, version: str, cuda: str | None, card: str = "A100", **more: object) -> Finding:
    """Judge a driver against a torch."""
    where = scene({"torch-import": torch(version, cuda, **more), "installed": installed()}, machine(driver, card))
    return judged("driver-cuda", where)


@pytest.mark.parametrize(
    ("driver", "version", "expected"),
    [(driver, version, WORDS[row[number]]) for driver, row in RUNS.items() for number, version in enumerate(BUILDS)],
)
def test_each_driver_against_each_torch(driver: str, version: str, expected: Status) -> None:
    """Below the floor of the major it fails, below the toolkit's own driver it warns (42: pytorch#4546, #37320)."""
    found = drive(driver, version, BUILDS[version], cuda_available=expected is not Status.FAIL)
    assert found.status is expected


def test_a_driver_that_is_too_old_is_told_what_it_runs_and_what_runs_on_it() -> None:
    """The smallest driver, the newest CUDA of this one, and the wheel that works, at this torch version."""
    found = drive("535.104.05", "2.13.0", "13.0", cuda_available=False, cuda_error="The NVIDIA driver is too old")
    assert "driver 535.104.05 is too old for CUDA 13.0 of torch 2.13.0" in found.summary
    assert "it runs CUDA up to 12.9, in full up to 12.2" in found.summary
    assert found.expected == "driver 580 or newer"
    assert found.fix.endswith("torch==2.13.0 --index-url https://download.pytorch.org/whl/cu126")
    assert found.detail[0] == "or: install driver 580 or newer on this machine"
    assert found.detail[1] == "torch says: The NVIDIA driver is too old"


def test_where_no_wheel_of_this_torch_runs_an_older_torch_is_proposed() -> None:
    """There is no CUDA 12 build of torch 2.15: the newest torch that this driver runs is older (63)."""
    found = drive("535.104.05", "2.15.0", "13.2", cuda_available=False)
    assert "torch==2.14.1 --index-url https://download.pytorch.org/whl/cu126" in found.fix


def test_minor_version_compatibility_says_what_is_lost() -> None:
    """CUDA 12.8 on a 535 driver runs, without PTX JIT (nvbandwidth#61)."""
    found = drive("535.104.05", "2.8.0", "12.8")
    assert found.status is Status.WARN
    assert "no PTX JIT, new features off" in found.summary
    assert "driver 570.26 or newer for everything" in found.expected


def test_compatibility_libraries_count_where_torch_sees_the_card() -> None:
    """cuda-compat lets a data-centre card run a newer major: that is a warning, since the table alone would fail it."""
    found = drive("535.104.05", "2.13.0", "13.0", cuda_available=True)
    assert found.status is Status.WARN
    assert "compatibility libraries only" in found.summary


@pytest.mark.parametrize(
    ("error", "means", "fix"),
    [
        ("Error 803: unsupported display driver / cuda driver combination", "kernel module", "unset LD_LIBRARY_PATH"),
        ("Error 804: forward compatibility was attempted on non supported HW", "cuda-compat", "unset LD_LIBRARY_PATH"),
        ("Error 802: system not yet initialized", "fabric manager", "nvidia-fabricmanager"),
        ("No CUDA GPUs are available", "No CUDA GPUs are available", "nvidia-smi"),
    ],
)
def test_a_card_that_cuda_refuses_fails_with_the_reason(error: str, means: str, fix: str) -> None:
    """The driver would do, ``is_available()`` is False: the number that CUDA gives says why."""
    found = drive("570.124.06", "2.8.0", "12.8", cuda_available=False, cuda_error=error)
    assert found.status is Status.FAIL
    assert means in found.summary
    assert fix in found.fix


def test_hidden_cards_are_no_broken_driver() -> None:
    """CUDA_VISIBLE_DEVICES= is somebody's wish, and worth a word."""
    found = drive("570.124.06", "2.8.0", "12.8", cuda_available=False, visible="")
    assert found.status is Status.WARN
    assert found.fix == "unset CUDA_VISIBLE_DEVICES"


def test_a_cpu_build_has_nothing_to_say_about_the_driver() -> None:
    """What cannot be judged is skipped, never passed."""
    assert drive("570.124.06", "2.8.0+cpu", None).status is Status.SKIP


def test_an_unknown_driver_is_never_a_pass() -> None:
    """A card without a driver version (a container without libcuda) cannot be judged by the tables."""
    host = HostFacts("linux-64", gpus=(Gpu("NVIDIA A100"),))
    found = judged("driver-cuda", scene({"torch-import": torch(), "installed": installed()}, host))
    assert found.status is Status.SKIP


@pytest.mark.parametrize(
    ("archs", "capability", "status", "by"),
    [
        ("sm_70 sm_80", (9, 0), Status.FAIL, "no code"),
        ("sm_70 sm_80", (8, 6), Status.PASS, "through sm_80"),
        ("sm_70 sm_80 compute_80", (9, 0), Status.WARN, "PTX only (compute_80)"),
        (X86_126, (7, 0), Status.PASS, "sm_70"),
        (X86_126, (8, 9), Status.PASS, "sm_80"),
        (X86_126, (12, 0), Status.FAIL, "no code"),
        (X86_128_OLD, (7, 0), Status.PASS, "sm_70"),
        (X86_128_OLD, (8, 9), Status.PASS, "sm_80"),
        (X86_128_OLD, (12, 0), Status.PASS, "sm_120"),
        (X86_128, (7, 0), Status.FAIL, "no code"),
        (X86_128, (8, 9), Status.PASS, "sm_80"),
        (X86_128, (12, 0), Status.PASS, "sm_120"),
        (X86_130, (7, 0), Status.FAIL, "no code"),
        (X86_130, (8, 9), Status.PASS, "sm_80"),
        (X86_130, (12, 0), Status.PASS, "sm_120"),
        (X86_130, (12, 1), Status.PASS, "sm_120"),
        (ARM_126, (7, 0), Status.FAIL, "no code"),
        (ARM_126, (8, 9), Status.PASS, "sm_80"),
        (ARM_126, (12, 0), Status.FAIL, "no code"),
        (ARM_130, (12, 0), Status.PASS, "sm_120"),
        (CONDA_126, (8, 9), Status.PASS, "sm_80"),
        (CONDA_126, (12, 0), Status.WARN, "PTX only (compute_90)"),
    ],
)
def test_each_capability_against_each_list_of_code(
    archs: str, capability: tuple[int, int], status: Status, by: str
) -> None:
    """Same major and no newer minor; PTX warns (43: pytorch#90761, Open-Sora-Plan#39, hyena-dna#76, #150733)."""
    found = judge_card(archs.split(), Card("a card", capability))
    assert (found.status, by in found.summary) == (status, True)


def arch(archs: str, host: HostFacts, *devices: tuple[str, tuple[int, int], str], **more: object) -> Finding:
    """Judge a list of code against what torch saw of the cards."""
    seen = [{"name": name, "capability": list(pair), "failed": failed} for name, pair, failed in devices]
    values = {"archs": archs.split(), "hip": None, "devices": seen, **more}
    where: Scene = scene({"torch-arch": values, "torch-import": torch(), "installed": installed()}, host)
    return judged("torch-arch", where)


def test_a_kernel_that_fails_outweighs_the_list() -> None:
    """``is_available()`` is True and the list looks right, and still no kernel runs."""
    error = "CUDA error: no kernel image is available for execution on the device"
    found = arch(X86_126, machine("570.124.06", "RTX 5090"), ("RTX 5090", (12, 0), error))
    assert found.status is Status.FAIL
    assert found.summary == f"torch holds no code for RTX 5090 (12.0): {error}"
    assert "--index-url https://download.pytorch.org/whl/cu128" in found.fix


def test_a_kernel_that_runs_softens_a_list_that_does_not_name_the_card() -> None:
    """A list can be shorter than the truth; what ran, ran."""
    found = arch("sm_70", machine("570.124.06", "H100"), ("H100", (9, 0), ""))
    assert found.status is Status.WARN


def test_the_worst_card_of_several_decides() -> None:
    """One old card among new ones is named."""
    host = machine("570.124.06", "V100", "A100")
    found = arch(X86_128, host, ("A100", (8, 0), ""), ("V100", (7, 0), "no kernel image is available"))
    assert found.status is Status.FAIL
    assert "V100 (7.0)" in found.summary
    assert any("A100 (8.0) is served" in line for line in found.detail)


def test_cards_that_only_the_driver_sees_are_judged_too() -> None:
    """Where torch cannot start CUDA, what the driver says of the card is enough to find missing code."""
    assert arch(X86_126, machine("570.124.06", "RTX 5090")).status is Status.FAIL


def test_a_build_for_rocm_is_judged_by_its_kernels() -> None:
    """ROCm's lists are of another kind: gfx90a is no sm_90a."""
    found = arch("gfx90a", machine("570.124.06", "A100"), ("MI250X", (9, 0), ""), hip="6.2")
    assert found.status is Status.PASS
