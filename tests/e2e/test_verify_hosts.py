"""torch builds on machines that are only recorded: drivers and cards against CUDA versions and arch lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_plans_builds import machine
from tests.probes.prefixes import TORCH, Prefix, make
from tests.program import Program

ARCHS = {
    "12.6": "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90",
    "12.8": "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120",
    "13.0": "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120",
}
"""What torch 2.10 is compiled for on x86-64 Linux (its RELEASE.md and build matrix)."""

CARDS = {
    "7.0": "Tesla V100-SXM2-32GB, 32768, 7.0",
    "8.9": "NVIDIA L4, 23034, 8.9",
    "12.0": "NVIDIA GeForce RTX 5090, 32607, 12.0",
}


def with_torch(folder: Path, cuda: str) -> Prefix:
    """Return an environment with a torch that says it was built for a CUDA, and for what belongs to it."""
    prefix = make(folder)
    (folder / "conda-meta").mkdir()
    (folder / "conda-meta" / "history").touch()
    version = f"2.10.0+cu{cuda.replace('.', '')}"
    text = TORCH.format(version=version, cuda=cuda, before="")
    text = text.replace("get_arch_list=lambda: []", f"get_arch_list=lambda: {ARCHS[cuda].split()!r}")
    text = text.replace("is_available=lambda: False", "is_available=lambda: __import__('os').environ['CARD'] == 'seen'")
    prefix.package("torch", version, {"torch/__init__.py": text})
    return prefix


def judged(llmenv: Program, prefix: Path, driver: str, card: str, check: str, *, seen: bool) -> dict[str, Any]:
    """Run a check on a recorded machine, whose driver shows torch the card or does not."""
    host = machine(llmenv.cwd / f"host-{driver}", f"{card}, {driver}\n")
    ended = llmenv("verify", "-p", prefix, "--only", check, "--json", CARD="seen" if seen else "unseen", **host)
    assert ended.code in {0, 1}, ended.text
    checks: list[dict[str, Any]] = json.loads(ended.stdout)["result"]["checks"]
    return next(one for one in checks if one["id"] == check)


@pytest.mark.parametrize(
    ("cuda", "statuses"),
    [
        ("12.6", "fail warn pass pass pass"),
        ("12.8", "fail warn pass pass pass"),
        ("13.0", "fail fail fail pass pass"),
    ],
)
def test_drivers(llmenv: Program, tmp_path: Path, cuda: str, statuses: str) -> None:
    """Row 42 (pytorch#4546): below CUDA's floor nothing runs, below the toolkit's own driver PTX does not (table 2, 3).

    The sentence names the driver that is here, and where it fails the one it takes.
    """
    prefix = with_torch(tmp_path / "env", cuda).path
    drivers = ("470.256.02", "525.147.05", "570.148.08", "580.95.05", "595.71.05")
    for driver, status in zip(drivers, statuses.split(), strict=True):
        found = judged(llmenv, prefix, driver, CARDS["8.9"], "driver-cuda", seen=status != "fail")
        assert found["status"] == status, found["summary"]
        assert driver in found["summary"] or driver in found["measured"], found
        if status == "fail":
            assert ("580" if cuda == "13.0" else "525.60.13") in found["summary"] + found["expected"], found
            assert "pip install" in found["fix"], found


@pytest.mark.parametrize(
    ("cuda", "statuses"), [("12.6", "pass pass fail"), ("12.8", "pass pass pass"), ("13.0", "fail pass pass")]
)
def test_cards(llmenv: Program, tmp_path: Path, cuda: str, statuses: str) -> None:
    """Row 43 (pytorch#90761, #150733): code for the card's major and no later minor, so 8.6 serves 8.9."""
    prefix = with_torch(tmp_path / "env", cuda).path
    for (capability, card), status in zip(CARDS.items(), statuses.split(), strict=True):
        found = judged(llmenv, prefix, f"595.71.{int(float(capability))}", card, "torch-arch", seen=True)
        assert found["status"] == status, found
        if status == "fail":
            assert "no kernel image" in found["summary"]
            assert found["measured"] == ARCHS[cuda]
            assert "pip install" in found["fix"]
