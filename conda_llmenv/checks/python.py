"""The environment has a Python, and it is its own."""

from __future__ import annotations

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status


def _python(scene: Scene) -> Finding:
    seen = scene.values("python")
    version, prefix = str(seen["version"]), str(seen["prefix"])
    if not seen["own"]:
        return Finding(
            Status.FAIL,
            f"bin/python is that of {prefix}",
            prefix,
            scene.prefix,
            detail=("what it imports is not what was installed here",),
        )
    return Finding(Status.PASS, f"{seen['implementation']} {version}", version)


CHECKS = (
    Check(
        id="python",
        title="its own Python runs",
        group="runtime",
        level=Level.QUICK,
        judge=_python,
        probe="python",
        fix="make the environment again: `llmenv create … -y` replaces it",
    ),
)
