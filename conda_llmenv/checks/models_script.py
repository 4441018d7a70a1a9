"""The test script that accelerate brings, as it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conda_llmenv.checks.causes import known_fix
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status


def accelerate_script(scene: Scene) -> Finding:
    """Judge the script by its exit status."""
    seen: Mapping[str, Any] = scene.values("accelerate-script")
    if not seen:
        return Finding(Status.SKIP, "accelerate is not installed")
    if "missing" in seen:
        return Finding(Status.SKIP, f"there is no test script of accelerate: {seen['missing']} is missing")
    tail = tuple(str(line) for line in seen["tail"])
    script = f"the test script of accelerate with {seen['processes']} processes"
    if "timed_out" in seen:
        measured = f"no end within {seen['timed_out']:.0f} s"
        return Finding(Status.FAIL, f"{script} hangs", measured, "exit code 0", known_fix(tail), tail)
    if seen["returncode"]:
        error = next((line for line in reversed(tail) if "Error" in line), tail[-1] if tail else "it said nothing")
        measured = f"exit code {seen['returncode']}"
        return Finding(Status.FAIL, f"{script} fails: {error.strip()}", measured, "exit code 0", known_fix(tail), tail)
    return Finding(Status.PASS, f"{script} passes", "exit code 0", "exit code 0", detail=tail[-2:])
