"""Judging what devices computed: just within and just beyond each limit, and cards that are unlike their like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from conda_llmenv.checks import limits
from conda_llmenv.model import Finding, Status
from tests.checks.runtime_scenes import PREFIX, judged, machine, scene

GIB = 1024**3

H100 = {"name": "NVIDIA H100 80GB HBM3", "capability": [9, 0]}

T4 = {"name": "Tesla T4", "capability": [7, 5]}

RIGHT = {"fp32": 3.5e-7, "bf16": 1.7e-3, "fp16": 2.1e-4, "tf32": 5e-4}
"""Errors that right products have."""


def card(errors: Mapping[str, float] | None = None, tflops: float = 50.0, about: Mapping[str, Any] = H100) -> Any:
    """Return what was seen of the products of one card."""
    precisions = {name: {"finite": True, "error": error} for name, error in {**RIGHT, **(errors or {})}.items()}
    return {**about, "precisions": precisions, "tflops": {"fp32": tflops}}


def matmul(devices: Mapping[str, Any], **more: Any) -> Finding:
    """Judge products."""
    state = {"float32_matmul_precision": "highest", "allow_tf32": False}
    seen = {"state": state, "overrides": {}, "size": 2048, "reference_error": 5e-16, "devices": devices, **more}
    return judged("matmul", scene({"matmul": seen}))


@pytest.mark.parametrize("precision", sorted(limits.MATMUL))
def test_each_precision_has_its_limit(precision: str) -> None:
    """A hundredth below it passes, a hundredth above fails with both numbers."""
    limit = limits.MATMUL[precision]
    assert matmul({"cuda:0": card({precision: 0.99 * limit})}).status is Status.PASS
    beyond = matmul({"cuda:0": card(), "cuda:1": card({precision: 1.01 * limit})})
    assert beyond.status is Status.FAIL
    assert beyond.summary == f"{precision} matrix products on cuda:1 are wrong"
    assert f"{precision} ≤ {limit:.0e}" in beyond.expected
    assert "-i 1" in beyond.fix


def test_limits_lie_well_above_what_is_right() -> None:
    """Five times and more: a clean machine gives no false alarm."""
    assert all(limits.MATMUL[name] > 3.9 * error for name, error in RIGHT.items())


@pytest.mark.parametrize("error", [math.nan, 1.0, 1e-11])
def test_the_reference_is_checked_too(error: float) -> None:
    """What others are compared with may be what is wrong; NaN is not right either."""
    found = matmul({"cpu": card()}, reference_error=error)
    assert found.status is Status.FAIL
    assert "float64" in found.summary


def test_what_is_not_finite_fails() -> None:
    """It has no error to compare."""
    seen = card()
    seen["precisions"]["fp16"] = {"finite": False}
    found = matmul({"cuda:0": seen})
    assert (found.status, found.measured) == (Status.FAIL, "NaN or infinity")


def test_a_variable_that_forces_tf32_is_a_warning() -> None:
    """Products are then rounded as somebody wanted; without the variable the same error is a fault."""
    rounded = {"cuda:0": card({"fp32": 5e-4})}
    found = matmul(rounded, overrides={"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"})
    assert found.status is Status.WARN
    assert found.fix == "unset TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"
    assert matmul(rounded).status is Status.FAIL


def test_an_older_card_is_not_asked_for_bfloat16() -> None:
    """A T4 only emulates it: that is told and is no fault."""
    seen = card(about=T4)
    del seen["precisions"]["tf32"]
    seen["precisions"]["bf16"] = {"unsupported": "compute capability 7.5 only emulates bfloat16"}
    found = matmul({"cuda:0": seen})
    assert found.status is Status.PASS
    assert found.summary.startswith("fp32 and fp16 matrix products are right on Tesla T4")
    assert "bf16 not tried: compute capability 7.5 only emulates bfloat16" in found.detail


@pytest.mark.parametrize(("speed", "status"), [(37.0, Status.WARN), (38.0, Status.PASS)])
def test_a_slow_card_among_its_like_is_a_warning(speed: float, status: Status) -> None:
    """Three quarters of the others' speed is where it begins; the figure is that of the slowest."""
    found = matmul({"cuda:0": card(), "cuda:1": card(), "cuda:2": card(tflops=speed)})
    assert found.status is status
    assert found.figures == {"matmul_fp32_tflops": speed}
    assert ("cuda:2 is much slower" in found.summary) == (status is Status.WARN)


def test_a_slower_card_of_another_name_is_none() -> None:
    """A T4 beside an H100 is as slow as it should be."""
    assert matmul({"cuda:0": card(), "cuda:1": card(tflops=4.0, about=T4)}).status is Status.PASS


def test_a_card_that_raises_is_named() -> None:
    """The others were tried all the same."""
    text = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    found = matmul({"cuda:0": card(), "cuda:1": {**H100, "error": text}})
    assert found.status is Status.FAIL
    assert found.summary == f"cuda:1 cannot compute: {text}"


def test_memory_that_others_hold_is_no_fault_of_the_environment() -> None:
    """The check could not be run, which is no pass."""
    found = matmul({"cuda:0": {**H100, "error": "OutOfMemoryError: CUDA out of memory. Tried to allocate 64 MiB."}})
    assert found.status is Status.ERROR
    assert found.fix.startswith("nvidia-smi")


def trained(**more: Any) -> dict[str, Any]:
    """Return what five right steps in float16 show."""
    right = {"finite": True, "scaler": True, "gradient_error": 6e-4, "losses": [1.3, 1.2], "scale": 1024.0}
    return {**right, "attention_error": 3e-4, **more}


def precision(**precisions: Any) -> Finding:
    """Judge training steps on one card."""
    return judged("precision", scene({"precision": {"devices": {"cuda:0": {**H100, "precisions": precisions}}}}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"finite": False}, "not finite"),
        ({"gradient_error": 1.01 * limits.GRADIENT["fp16"]}, "other gradients behind the gradient scaler"),
        ({"gradient_error": math.nan}, "other gradients"),
        ({"losses": [1.3, 1.3]}, "does not lower its loss"),
        ({"scale": 0.0}, "loses the scale"),
        ({"scale": math.inf}, "loses the scale"),
        ({"attention": "RuntimeError: No available kernel"}, "has no attention"),
        ({"attention_error": 1.01 * limits.ATTENTION["fp16"]}, "a wrong attention"),
    ],
)
def test_wrong_training_steps_fail(change: dict[str, Any], words: str) -> None:
    """Each fault is named with device and precision."""
    found = precision(fp16=trained(**change))
    assert found.status is Status.FAIL
    assert found.summary.startswith("fp16 training on cuda:0 ")
    assert words in found.summary


def test_right_training_steps_pass() -> None:
    """At the limit is within it, and what is not there is told."""
    found = precision(fp16=trained(gradient_error=limits.GRADIENT["fp16"]), bf16={"unsupported": "only emulated"})
    assert found.status is Status.PASS
    assert found.summary == "training steps in fp16 are right on NVIDIA H100 80GB HBM3"
    assert found.detail == ("bf16 not tried: only emulated",)


def test_no_reduced_precision_at_all_is_skipped() -> None:
    """Nothing was tried, so nothing is passed."""
    assert precision(fp16={"unsupported": "no autocast"}).status is Status.SKIP


def repeatability(*differing: int, unlike: tuple[str, ...] = ()) -> Finding:
    """Judge repetitions on some cards."""
    devices = {f"cuda:{index}": {**H100, "differing": n, "largest": 1e-7 * n} for index, n in enumerate(differing)}
    return judged("repeatability", scene({"repeatability": {"devices": devices, "runs": 20, "unlike": list(unlike)}}))


def test_one_other_bit_in_twenty_runs_fails() -> None:
    """It is the sign of a card that corrupts silently."""
    found = repeatability(0, 1)
    assert found.status is Status.FAIL
    assert found.summary == "cuda:1 does not repeat its own results"
    assert found.measured == "1 of 19 repetitions differ, by up to 1.0e-07"


def test_a_card_unlike_the_others_is_a_warning() -> None:
    """It repeats itself, and yet computes something else."""
    found = repeatability(0, 0, 0, unlike=("cuda:2",))
    assert found.status is Status.WARN
    assert "cuda:2" in found.summary


def test_the_same_bits_pass() -> None:
    """Equal cards are counted."""
    assert repeatability(0, 0).summary == "results repeat to the bit on 2 × NVIDIA H100 80GB HBM3"


def filled(**more: Any) -> dict[str, Any]:
    """Return what was seen of the memory of a card that is as it should be."""
    return {**H100, "free": 79 * GIB, "total": 80 * GIB, "allocated": 70 * GIB, "wrong_words": 0, "took": 0.5, **more}


@pytest.mark.parametrize(
    ("cards", "status", "words"),
    [
        ([filled()], Status.PASS, "keeps what is written"),
        ([filled(), filled(wrong_words=1)], Status.FAIL, "memory of cuda:1 does not keep what is written"),
        ([filled(allocated=60 * GIB)], Status.WARN, "free memory of cuda:0 cannot be had"),
        (
            [{**H100, "free": 10 * GIB, "total": 80 * GIB, "others": 70 * GIB}],
            Status.SKIP,
            "others use every card here",
        ),
        ([filled(), {**H100, "others": 70 * GIB}], Status.PASS, "keeps what is written"),
        ([], Status.SKIP, "torch sees no card here"),
    ],
)
def test_memory_is_judged_on_cards_that_are_free(cards: list[dict[str, Any]], status: Status, words: str) -> None:
    """One wrong word fails; a card that others use is told of and not judged."""
    devices = {f"cuda:{index}": seen for index, seen in enumerate(cards)}
    host = machine("580.65.06", "H100")
    found = judged("memory", scene({"memory": {"devices": devices}}, host))
    assert found.status is status
    assert words in found.summary
    busy = any("others" in seen for seen in cards)
    assert any("GiB of others, not tried" in line for line in found.detail) == busy


def compiled(seen: Mapping[str, Any], **more: Any) -> Finding:
    """Judge a compiled function on the processor."""
    around = {"compilers": {"g++": ""}, "switches": {}, "made_code": True, **more}
    return judged("compile", scene({"compile": {**around, "devices": {"cpu": seen}}}))


@pytest.mark.parametrize(
    ("error", "means", "fix"),
    [
        ("InvalidCxxCompiler: No working C++ compiler found in x: (None, 'g++')", "no compiler", "gxx_linux-64"),
        ("RuntimeError: Failed to find C compiler. Please specify via CC", "no compiler", f"-p {PREFIX}"),
        (
            "CppCompileError: C++ compile error\nfatal error: Python.h: No such file or directory",
            "headers",
            "python3-dev",
        ),
        ("CppCompileError: x\ng++: fatal error: cannot execute 'cc1plus'", "C without C++", "apt install g++"),
        ("PTXASError: ptxas fatal : Value 'sm_120' is not defined", "ptxas", "triton"),
        ("TritonMissing: Cannot find a working triton installation.", "Triton is not installed", "pip check"),
        ("ImportError: /tmp/x.so: failed to map segment from shared object", "cannot be run", "TMPDIR"),
        ("SomethingNew: nobody has seen this", "SomethingNew: nobody has seen this", "TORCHDYNAMO_DISABLE=1"),
    ],
)
def test_a_compiler_that_fails_is_a_warning(error: str, means: str, fix: str) -> None:
    """Training works without; the warning has the reason and the next step."""
    found = compiled({"error": error})
    assert found.status is Status.WARN
    assert means in found.summary
    assert fix in found.fix


def test_compiled_code_is_compared_by_value() -> None:
    """Wrong values fail, NaN too."""
    right = {"name": "cpu", "difference": limits.COMPILED, "took": 3.0}
    assert compiled(right).status is Status.PASS
    for wrong in (1.1 * limits.COMPILED, math.nan):
        assert compiled({**right, "difference": wrong}).status is Status.FAIL


def test_a_function_that_is_left_as_it_is_proves_nothing() -> None:
    """A variable that switches compiling off is told of; without one it is odd."""
    plain = {"name": "cpu", "difference": 0.0, "took": 0.1}
    off = compiled(plain, made_code=False, switches={"TORCHDYNAMO_DISABLE": "1"})
    assert (off.status, off.summary) == (Status.SKIP, "torch.compile is switched off by TORCHDYNAMO_DISABLE=1")
    assert compiled(plain, made_code=False).status is Status.WARN
