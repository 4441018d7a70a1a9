"""Checks of arithmetic on this device: by value, repeatable, in every precision."""

from __future__ import annotations

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.compute_compile import compile_
from conda_llmenv.checks.compute_products import matmul
from conda_llmenv.checks.compute_training import LOOK_AT_CARD, memory, precision, repeatability
from conda_llmenv.model import Level

CHECKS: tuple[Check, ...] = (
    Check(
        "matmul",
        "matrix products are right",
        "compute",
        Level.QUICK,
        matmul,
        fix=f"a kernel raised or the process died: {LOOK_AT_CARD}",
        probe="compute",
        needs=("torch-import",),
        timeout=60.0,
        torch=True,
    ),
    Check(
        "precision",
        "training in bfloat16 and float16 is right",
        "compute",
        Level.FULL,
        precision,
        fix="train in float32, and compare this torch with another build: it computes its reduced precisions wrongly",
        probe="compute",
        needs=("torch-import",),
        timeout=60.0,
        torch=True,
    ),
    Check(
        "repeatability",
        "the same work gives the same bits",
        "compute",
        Level.FULL,
        repeatability,
        fix="OMP_NUM_THREADS=1 llmenv verify -p {prefix} --only repeatability: "
        "what then repeats itself was a race of threads",
        probe="compute",
        needs=("torch-import",),
        timeout=60.0,
        torch=True,
    ),
    Check(
        "memory",
        "memory of the cards keeps what is written",
        "compute",
        Level.DEEP,
        memory,
        fix=LOOK_AT_CARD,
        probe="compute",
        needs=("torch-import",),
        timeout=120.0,
        gpu=True,
        torch=True,
    ),
    Check(
        "compile",
        "torch.compile makes code that computes the same",
        "compute",
        Level.FULL,
        compile_,
        fix="train without torch.compile: export TORCHDYNAMO_DISABLE=1",
        probe="compile",
        needs=("torch-import",),
        timeout=180.0,
        torch=True,
    ),
)
