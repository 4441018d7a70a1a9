"""Arithmetic in a real torch: right on a clean environment, and each planted fault under its own name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conda_llmenv.model import Finding, Status
from tests.probes.looking import found, look
from tests.torchenv import BreakEnv

PLANTED = Path(__file__).with_name("planted_compute.py")

CHECKS = ("matmul", "precision", "repeatability", "memory")

pytestmark = pytest.mark.torch

Plant = Callable[[str, str], Finding]


@pytest.fixture
def planted(broken_env: BreakEnv) -> Plant:
    """Return what plants a fault into torch and tells what a check says of it."""
    prefix = broken_env({"sitecustomize.py": PLANTED.read_text(encoding="utf-8")})

    def find(fault: str, check: str) -> Finding:
        return found(prefix, check, {"device": "cpu"}, environ={"PLANTED": fault})

    return find


def test_a_clean_torch_computes_right(torch_env: Path) -> None:
    """Products, training steps and repetitions pass; memory of cards is skipped without one, never passed."""
    findings, end = look(torch_env, CHECKS, {"device": "cpu"})
    assert end.returncode == 0, end.tail
    statuses = {check: finding.status for check, finding in findings.items()}
    passing = dict.fromkeys(("matmul", "precision", "repeatability"), Status.PASS)
    assert statuses == {**passing, "memory": Status.SKIP}, findings
    assert findings["matmul"].figures["matmul_fp32_tflops"] > 0
    assert "float32_matmul_precision=highest" in "\n".join(findings["matmul"].detail)


def test_a_preflight_multiplies_small_matrices(torch_env: Path) -> None:
    """A job script waits for what decides, not for figures."""
    findings, end = look(torch_env, ("matmul",), {"device": "cpu", "small": True})
    assert findings["matmul"].status is Status.PASS
    assert not findings["matmul"].figures
    assert end.observations[0].seconds < 5


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("wrong_products", "fp32 matrix products on cpu are wrong"),
        ("one_wrong_tile", "bf16 matrix products on cpu are wrong"),
        ("not_a_number", "fp16 matrix products on cpu are wrong"),
        ("wrong_everywhere", "multiplies float64 matrices wrongly"),
    ],
)
def test_wrong_products_are_seen(planted: Plant, fault: str, words: str) -> None:
    """A wrong factor, a lost tile, a NaN, and a fault that what is compared with has too."""
    finding = planted(fault, "matmul")
    assert finding.status is Status.FAIL
    assert words in finding.summary
    assert "bin/python -I -c 'import torch" in finding.fix


def test_bits_that_change_are_seen(planted: Plant) -> None:
    """A result within the limits that is another one each time is the sign of a broken device."""
    finding = planted("other_bits", "repeatability")
    assert finding.status is Status.FAIL
    assert finding.summary == "cpu does not repeat its own results"
    assert "of 19 repetitions differ" in finding.measured


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("blind_scaler", "fp16 training on cpu has other gradients behind the gradient scaler than float32"),
        ("frozen_optimizer", "bf16 training on cpu does not lower its loss"),
    ],
)
def test_broken_training_is_seen(planted: Plant, fault: str, words: str) -> None:
    """A scaler that does not unscale and an optimizer that does nothing both run without an error."""
    finding = planted(fault, "precision")
    assert finding.status is Status.FAIL
    assert finding.summary == words


@pytest.mark.soak
def test_thirty_runs_give_no_false_alarm(torch_env: Path) -> None:
    """What is right once is right every time."""
    for _ in range(30):
        findings, _end = look(torch_env, CHECKS[:3], {"device": "cpu"})
        assert {finding.status for finding in findings.values()} == {Status.PASS}, findings
