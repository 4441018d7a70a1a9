"""Judging training steps of model libraries, and what their errors mean."""

from __future__ import annotations

import math
from typing import Any

import pytest

from conda_llmenv.checks.registry import BY_ID
from conda_llmenv.model import Finding, Observation, Status
from tests.checks.runtime_scenes import PREFIX, judged, scene

GOOD = {"version": "5.24.0", "device": "cpu", "losses": [4.8, 3.3], "finite": True}

ABI = "ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEab"


def model_step(**libraries: Any) -> Finding:
    """Judge what was seen of these libraries."""
    return judged("model-step", scene({"model-step": {"libraries": libraries}}))


def test_steps_that_lower_the_loss_pass() -> None:
    """Each library has a line with its version and its losses."""
    found = model_step(transformers=GOOD, peft={**GOOD, "version": "0.21.2", "changed": 0, "adapters": 8})
    assert found.status is Status.PASS
    assert found.summary == "training steps with transformers 5.24.0, peft 0.21.2 lower the loss"
    assert "transformers 5.24.0 on cpu: loss 4.8000 → 3.3000" in found.detail


def test_no_library_is_no_pass() -> None:
    """Nothing was tried."""
    assert model_step().status is Status.SKIP
    assert BY_ID["model-step"].judge(scene({})).status is Status.SKIP


def test_a_library_that_needs_a_card_is_no_pass_without_one() -> None:
    """It was imported, which is told."""
    found = model_step(flash_attn={"version": "2.8.3", "device": "cpu", "unsupported": "imported; needs a card"})
    assert found.status is Status.SKIP
    assert found.detail == ("flash-attn 2.8.3: imported; needs a card",)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({**GOOD, "losses": None}, "not finite"),
        ({**GOOD, "finite": False}, "not finite"),
        ({**GOOD, "losses": [4.8, 4.8]}, "do not lower the loss"),
        ({**GOOD, "changed": 2}, "change weights that are frozen"),
        ({"device": "cuda:0", "output_error": math.nan, "gradient_error": 1e-3}, "a wrong output"),
        ({"device": "cuda:0", "output_error": 3e-4, "gradient_error": 0.1}, "a wrong gradient"),
    ],
)
def test_wrong_numbers_fail(seen: dict[str, Any], words: str) -> None:
    """A step that runs is not one that trains."""
    found = model_step(peft=seen)
    assert found.status is Status.FAIL
    assert words in found.summary


@pytest.mark.parametrize("text", [ABI, ABI.replace("_ZN3c10", "_ZNK3c10"), ABI.replace("_ZN3c10", "_ZN2at")])
def test_a_symbol_of_torch_that_is_missing_means_a_rebuild(text: str) -> None:
    """Library, error and next step (48: flash-attention#246, #309; instructlab/training#536)."""
    found = model_step(transformers=GOOD, flash_attn={"version": "2.8.3", "error": text})
    assert found.status is Status.FAIL
    assert found.summary == (
        f"no training step with flash-attn 2.8.3: ABI mismatch, rebuild it for the torch that is installed: {text}"
    )
    assert found.fix.startswith(f"{PREFIX}/bin/python -m pip install --force-reinstall")
    assert found.fix.endswith("flash-attn==2.8.3")
    assert any(line.startswith("transformers 5.24.0 on cpu") for line in found.detail)


def test_the_symbol_may_stand_in_the_trace() -> None:
    """Libraries wrap the error of an import into one of their own."""
    wrapped = {"error": "RuntimeError: Failed to import transformers.models.llama", "trace": [ABI]}
    assert "ABI mismatch" in model_step(transformers=wrapped).summary


def test_the_end_of_the_process_is_told_with_its_last_lines() -> None:
    """A segfault has no exception."""
    seen = {"version": "0.19.8", "error": "the process was ended by SIGSEGV", "tail": ["Fatal Python error"]}
    found = model_step(deepspeed=seen)
    assert found.summary.startswith("no training step with deepspeed 0.19.8: ")
    assert found.summary.endswith("the process was ended by SIGSEGV")
    assert found.detail == ("Fatal Python error",)
    assert found.fix


def test_observations_of_several_processes_are_one_report() -> None:
    """One process a library, or one for all."""
    both = [Observation("model-step", {"libraries": {name: GOOD}}) for name in ("transformers", "peft")]
    where = scene({})
    found = judged("model-step", type(where)(where.prefix, where.host, where.tables, seen={"model-step": tuple(both)}))
    assert found.measured == "2 of 2"


@pytest.mark.parametrize(
    ("seen", "status", "words"),
    [
        ({"processes": 2, "returncode": 0, "tail": []}, Status.PASS, "with 2 processes passes"),
        (
            {"processes": 2, "returncode": 1, "tail": ["AssertionError: seeds", "bye"]},
            Status.FAIL,
            "AssertionError: seeds",
        ),
        ({"processes": 2, "returncode": 1, "tail": []}, Status.FAIL, "it said nothing"),
        ({"processes": 2, "timed_out": 240, "tail": []}, Status.FAIL, "hangs"),
        ({"missing": "accelerate"}, Status.SKIP, "accelerate is missing"),
    ],
)
def test_the_script_of_accelerate_is_judged_by_its_end(seen: dict[str, Any], status: Status, words: str) -> None:
    """Its last lines are kept."""
    found = judged("accelerate-script", scene({"accelerate-script": seen}))
    assert found.status is status
    assert words in found.summary
