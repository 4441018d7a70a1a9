"""Runs the test script that accelerate brings: order of data, seeds of ranks, the same model as without it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from .devices import load_torch
from .started import last_lines, run_to_end

PATIENCE = 240
TAIL_LINES = 15
PROCESSES = 2


def look(environ: dict[str, str]) -> dict[str, Any]:
    """Return how the script ended and its last lines."""
    spec = importlib.util.find_spec("accelerate")
    if spec is None or spec.origin is None:
        return {"missing": "accelerate"}
    script = Path(spec.origin).parent / "test_utils" / "scripts" / "test_script.py"
    if not script.is_file():
        return {"missing": str(script)}
    cards = load_torch().cuda.device_count()
    argv, variables, processes = command(str(script), cards)
    ended = run_to_end(argv, {**environ, **variables}, PATIENCE)
    found = {"processes": processes, "tail": last_lines(ended.output + ended.complaints, TAIL_LINES)}
    if ended.returncode is None:
        return {**found, "timed_out": PATIENCE}
    return {**found, "returncode": ended.returncode}


def command(script: str, cards: int) -> tuple[list[str], dict[str, str], int]:
    """Return what starts the script, the variables it needs and the number of processes.

    accelerate's launcher starts several processes for cards only; on processors it leaves that to torchrun.
    """
    if cards:
        processes = min(cards, PROCESSES)
        several = ["--multi_gpu"] if processes > 1 else []
        options = ["--num_processes", str(processes), "--num_machines", "1", "--main_process_port", "0"]
        plain = ["--mixed_precision", "no", "--dynamo_backend", "no"]
        launcher = [sys.executable, "-I", "-m", "accelerate.commands.launch"]
        return [*launcher, *several, *options, *plain, script], {}, processes
    torchrun = [sys.executable, "-I", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(PROCESSES)]
    argv = [*torchrun, "--no-python", sys.executable, "-I", script]
    return argv, {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}, PROCESSES
