"""What packages require of one another, and releases that belong together."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.model import Finding, Status
from tests.checks.runtime_scenes import PREFIX, installed, judged, scene, torch

MARKERS = {
    "implementation_name": "cpython",
    "implementation_version": "3.11.9",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "6.1",
    "platform_system": "Linux",
    "platform_version": "#1",
    "python_full_version": "3.11.9",
    "python_version": "3.11",
    "sys_platform": "linux",
}


def seen(versions: dict[str, str], requires: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """Return what is installed with what it requires."""
    needs = requires or {}
    rows = [{"name": name, "version": text, "requires": needs.get(name, [])} for name, text in versions.items()]
    return {"distributions": rows, "markers": MARKERS}


def check(versions: dict[str, str], requires: dict[str, list[str]]) -> Finding:
    """Judge all requirements."""
    return judged("pip-check", scene({"requirements": seen(versions, requires)}))


@pytest.mark.parametrize(
    "requirement",
    [
        "numpy",
        "NumPy>=1.26",
        "numpy>=2; python_version < '3.8'",
        "colorama; sys_platform == 'win32'",
        "pytest; extra == 'dev'",
        "triton==3.4.0; platform_system == 'Linux' and platform_machine == 'aarch64'",
        "numpy (>=1.20)",
        "an unreadable requirement ==",
    ],
)
def test_what_is_met_or_meant_for_elsewhere(requirement: str) -> None:
    """Markers are judged for the environment's Python, extras are not asked for."""
    assert check({"a": "1", "numpy": "1.26.4"}, {"a": [requirement]}).status is Status.PASS


def test_a_wrong_version_is_a_warning_in_pip_s_words() -> None:
    """Many a pin is stricter than it has to be; imports and a training step have the last word."""
    found = check({"a": "1.0", "numpy": "2.3.1"}, {"a": ["numpy<2"]})
    assert found.status is Status.WARN
    assert found.summary == "a 1.0 requires numpy<2, and 2.3.1 is installed"
    assert found.fix == f'{PREFIX}/bin/python -m pip install "numpy<2"'


def test_a_missing_requirement_is_told() -> None:
    """A package that was installed with --no-deps."""
    found = check({"a": "1.0"}, {"a": ["pyyaml"]})
    assert found.summary == "a 1.0 requires pyyaml, and it is not installed"


def test_what_torch_itself_requires_fails() -> None:
    """The CUDA libraries of torch are pinned exactly: another NCCL lacks symbols."""
    versions = {"a": "1", "torch": "2.8.0", "nvidia-nccl-cu12": "2.30.7"}
    found = check(versions, {"a": ["b"], "torch": ["nvidia-nccl-cu12==2.27.3; platform_system == 'Linux'"]})
    assert found.status is Status.FAIL
    assert found.summary == "torch 2.8.0 requires nvidia-nccl-cu12==2.27.3, and 2.30.7 is installed"
    assert len(found.detail) == 2


def test_what_torch_uses_in_passing_is_a_warning() -> None:
    """Without networkx most of torch works."""
    assert check({"torch": "2.8.0"}, {"torch": ["networkx"]}).status is Status.WARN


def test_a_prerelease_that_is_installed_counts() -> None:
    """Somebody has chosen it."""
    assert check({"a": "1", "b": "2.1.0rc1"}, {"a": ["b>=2.0"]}).status is Status.PASS


def paired(
    versions: dict[str, str], requires: dict[str, list[str]] | None = None, imported: dict[str, Any] | None = None
) -> Finding:
    """Judge pairs."""
    values = {"requirements": seen(versions, requires), "torch-import": imported or torch(versions["torch"])}
    return judged("pairs", scene({**values, "installed": installed(versions)}))


@pytest.mark.parametrize(
    ("versions", "status"),
    [
        ({"torch": "2.8.0+cu128", "torchvision": "0.23.0+cu128", "torchaudio": "2.8.0+cu128"}, Status.PASS),
        ({"torch": "2.8.0", "torchvision": "0.23.0"}, Status.PASS),
        ({"torch": "2.8.0", "torchvision": "0.22.1"}, Status.FAIL),
        ({"torch": "2.8.0", "torchaudio": "2.7.1"}, Status.FAIL),
        ({"torch": "2.13.0", "torchaudio": "2.11.0"}, Status.PASS),
        ({"torch": "2.13.0", "torchaudio": "2.10.0"}, Status.WARN),
        ({"torch": "2.8.0+cu128", "torchvision": "0.23.0+cpu"}, Status.FAIL),
        ({"torch": "2.99.0", "torchvision": "0.80.0"}, Status.PASS),
        ({"torch": "2.8.0"}, Status.PASS),
    ],
)
def test_torch_and_its_companions(versions: dict[str, str], status: Status) -> None:
    """Each torchvision is compiled against one torch; torchaudio was until torch 2.11."""
    assert paired(versions).status is status


def test_the_wrong_torchvision_is_told_with_the_error_it_gives() -> None:
    """People look for the error they saw."""
    found = paired({"torch": "2.8.0", "torchvision": "0.22.1"})
    assert "operator torchvision::nms does not exist" in found.summary
    assert found.fix.endswith("torchvision==0.23.*")


@pytest.mark.parametrize(("version", "status"), [("0.22.1", Status.PASS), ("0.21.0", Status.FAIL), (None, Status.FAIL)])
def test_transformers_refuses_another_tokenizers(version: str | None, status: Status) -> None:
    """It compares versions when it is imported."""
    versions = {"torch": "2.8.0", "transformers": "4.57.0", **({"tokenizers": version} if version else {})}
    found = paired(versions, {"transformers": ["tokenizers<=0.23.0,>=0.22.0", "some-extra; extra == 'dev'"]})
    assert found.status is status
    if status is Status.FAIL:
        assert "transformers refuses to be imported" in found.summary


@pytest.mark.parametrize(
    ("version", "status", "words"),
    [
        ("2.8.3+cu12torch2.8cxx11abitrue", Status.PASS, ""),
        ("2.8.3+cu12torch2.7cxx11abitrue", Status.FAIL, "built for torch 2.7, and here is torch 2.8"),
        ("2.8.3+cu11torch2.8cxx11abitrue", Status.FAIL, "built for CUDA 11, and here is CUDA 12"),
        ("2.8.3+cu12torch2.8cxx11abiFALSE", Status.FAIL, "C++11 ABI false, and here is C++11 ABI true"),
        ("2.8.3", Status.PASS, ""),
    ],
)
def test_flash_attn_s_prebuilt_wheel_says_what_it_fits(version: str, status: Status, words: str) -> None:
    """Built for another torch it ends in ``undefined symbol: _ZN3c10…`` (48: flash-attention#246, #309)."""
    found = paired({"torch": "2.8.0", "flash-attn": version})
    assert found.status is status
    assert words in found.summary
    if status is Status.FAIL:
        assert found.summary.startswith("ABI mismatch")
        assert "--no-build-isolation" in found.fix


@pytest.mark.parametrize(
    ("names", "cuda", "there", "status"),
    [
        (("deepspeed",), "12.8", "12.9", Status.PASS),
        (("deepspeed",), "12.8", "13.0", Status.WARN),
        (("deepspeed",), "12.8", "", Status.WARN),
        (("flash-attn",), "12.8", "11.8", Status.WARN),
        (("flash-attn",), "12.8", "", Status.SKIP),
        (("deepspeed",), None, "13.0", Status.SKIP),
        ((), "12.8", "13.0", Status.SKIP),
    ],
)
def test_the_compiler_matters_where_something_compiles(
    names: tuple[str, ...], cuda: str | None, there: str, status: Status
) -> None:
    """``cpp_extension`` refuses a compiler of another CUDA major."""
    values = {"nvcc": "/usr/local/cuda/bin/nvcc" if there else "", "version": there, "home": ""}
    known = installed({"torch": "2.8.0", **dict.fromkeys(names, "1.0")})
    found = judged("nvcc", scene({"nvcc": values, "torch-import": torch(cuda=cuda), "installed": known}))
    assert found.status is status
