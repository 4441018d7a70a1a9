"""Checks of what training reads and writes: data through worker processes, checkpoints on the disk."""

from __future__ import annotations

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.data_checkpoint import checkpoint
from conda_llmenv.checks.data_loading import dataloader
from conda_llmenv.model import Level

CHECKS: tuple[Check, ...] = (
    Check(
        "dataloader",
        "data comes from worker processes as it is",
        "data",
        Level.FULL,
        dataloader,
        fix="load data in the training process itself: DataLoader(num_workers=0)",
        probe="dataloader",
        needs=("torch-import",),
        timeout=180.0,
        torch=True,
    ),
    Check(
        "checkpoint",
        "a checkpoint is read back as it was written",
        "data",
        Level.FULL,
        checkpoint,
        fix="run from a folder on another disk: the check writes to the current one",
        probe="checkpoint",
        needs=("torch-import",),
        timeout=120.0,
        torch=True,
    ),
)
