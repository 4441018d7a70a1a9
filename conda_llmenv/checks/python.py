"""The environment can be activated, and has a Python of its own: what everything else is looked at with."""

from __future__ import annotations

from conda_llmenv.checks.check import PYTHON, Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status

FAILED = "failed: "
"""How the one problem begins after which there is no activated environment at all."""


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


def _activation(scene: Scene) -> Finding:
    problems = tuple(str(problem) for problem in scene.values("activation")["problems"])
    if not problems:
        return Finding(Status.PASS, "activation sets what it should")
    failed = problems[0].startswith(FAILED)
    status = Status.FAIL if failed else Status.WARN
    return Finding(status, problems[0].removeprefix(FAILED), detail=problems[1:])


CHECKS = (
    Check(
        id="activation",
        title="it can be activated",
        group="python",
        level=Level.QUICK,
        judge=_activation,
        fix="the package that brought the script is named by `conda package --which PATH`; update or remove it",
    ),
    Check(
        id=PYTHON,
        title="its own Python runs",
        group="python",
        level=Level.QUICK,
        judge=_python,
        probe="python",
        fix="make the environment again: `llmenv create … -y` replaces it",
    ),
)
