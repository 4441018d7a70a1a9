"""Checks of the libraries that models are trained with."""

from __future__ import annotations

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.models_script import accelerate_script
from conda_llmenv.checks.models_step import model_step
from conda_llmenv.model import Level

CHECKS: tuple[Check, ...] = (
    Check(
        "model-step",
        "model libraries take a training step",
        "models",
        Level.FULL,
        model_step,
        fix="look at the first line of the error, and at what pip check says in the environment",
        probe="models",
        needs=("torch-import",),
        timeout=300.0,
        torch=True,
    ),
    Check(
        "accelerate-script",
        "accelerate passes its own test script",
        "models",
        Level.DEEP,
        accelerate_script,
        fix="run `accelerate test` in the environment to see all of its output",
        probe="models",
        needs=("torch-import",),
        timeout=270.0,
        torch=True,
    ),
)
