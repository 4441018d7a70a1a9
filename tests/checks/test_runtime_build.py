"""torch's build is the one that is meant."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.model import Finding, HostFacts, Status
from tests.checks.runtime_scenes import installed, judged, machine, scene, torch


def build(
    seen: dict[str, Any], host: HostFacts | None = None, there: dict[str, Any] | None = None, **more: Any
) -> Finding:
    """Judge a torch in a tier."""
    return judged("torch-build", scene({"torch-import": seen, "installed": there or installed({})}, host, **more))


def test_a_cpu_build_for_a_gpu_tier_fails() -> None:
    """The solver saw no card, or pip replaced conda's build (40: conda-libmamba-solver#646, #131)."""
    found = build(torch("2.8.0+cpu", None), machine("570.124.06", "A100"), tier="a100", cuda_tier=True)
    assert found.status is Status.FAIL
    assert found.summary == "torch is a CPU build, and tier a100 is for a card"
    assert found.fix.endswith("torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128")


def test_a_cpu_build_of_conda_is_not_cured_with_pip() -> None:
    """A torch of pip's over conda's would be the next fault."""
    there = installed({"torch": "2.8.0"}, conda_torch=["pytorch 2.8.0 cpu_mkl_py311_h1"])
    found = build(torch("2.8.0", None), there=there, tier="a100", cuda_tier=True)
    assert "pip" not in found.fix
    assert "llmenv create … --tier a100" in found.fix
    assert "cpu_mkl_py311_h1" in found.measured


def test_a_cuda_build_for_the_cpu_tier_is_a_warning() -> None:
    """It works, and costs gigabytes (40, the reverse)."""
    found = build(torch(), tier="cpu", cuda_tier=False)
    assert found.status is Status.WARN
    assert "tier cpu is for machines without a card" in found.summary


@pytest.mark.parametrize(("host", "status"), [(machine("570.124.06", "A100"), Status.WARN), (machine(), Status.PASS)])
def test_without_a_tier_the_machine_decides(host: HostFacts, status: Status) -> None:
    """A CPU build beside a card is odd, without a card it is right."""
    assert build(torch("2.8.0+cpu", None), host).status is status


def test_a_gpu_tier_without_nccl_fails() -> None:
    """Where it trains it says: Distributed package does not have NCCL built in."""
    found = build(torch(backends=["gloo"]), tier="a100", cuda_tier=True)
    assert found.status is Status.FAIL
    assert "no NCCL" in found.summary


def test_libraries_of_another_cuda_major_fail() -> None:
    """A torch for CUDA 13 with the wheels of CUDA 12 beside it cannot find its own."""
    there = installed({"torch": "2.13.0", "nvidia-cublas-cu12": "12.6.4.1", "nvidia-cudnn-cu12": "9.5.1.17"})
    found = build(torch("2.13.0+cu130", "13.0"), there=there, tier="a100", cuda_tier=True)
    assert found.status is Status.FAIL
    assert found.summary == "torch is built for CUDA 13.0, and only libraries of CUDA 12 are installed"


def test_conda_with_another_cuda_major_fails() -> None:
    """A conda torch and conda's ``cuda-version`` belong together."""
    there = installed({"torch": "2.8.0"}, conda_torch=["pytorch 2.8.0 cuda"], conda={"cuda-version": "11.8 h1"})
    found = build(torch("2.8.0", "12.8"), there=there)
    assert found.status is Status.FAIL
    assert "cuda-version is 11.8" in found.summary


def test_torch_that_is_not_what_its_metadata_say_fails() -> None:
    """One installation was laid over another."""
    found = build(torch("2.5.1", "12.4"), there=installed({"torch": "2.8.0+cu128"}))
    assert found.status is Status.FAIL
    assert "torch 2.5.1 is imported, but its metadata are those of 2.8.0+cu128" in found.summary


@pytest.mark.parametrize("noted", ["2.8.0", "2.8.0+cu128"])
def test_the_local_version_alone_is_no_difference(noted: str) -> None:
    """Metadata of conda leave it out."""
    assert build(torch(), there=installed({"torch": noted})).status is Status.PASS


def test_what_is_right_is_told_with_its_figures() -> None:
    """The line of a good build says what is in it."""
    found = build(torch(archs=["sm_80", "sm_90"]), tier="a100", cuda_tier=True)
    assert found.status is Status.PASS
    assert found.summary.startswith("torch 2.8.0 for CUDA 12.8")
    assert found.detail == ("cuDNN 91002; NCCL 2.27.3; code for sm_80 sm_90; backends nccl gloo",)


def test_a_debug_build_is_a_warning_behind_what_is_worse() -> None:
    """The worst finding is the headline, the others are told with it."""
    found = build(torch("2.8.0+cpu", None, debug=True), tier="a100", cuda_tier=True)
    assert found.status is Status.FAIL
    assert "also: torch is a debug build: many times slower" in found.detail
