"""What activation leaves in force: the environment's own Python first, and nothing that keeps it from running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status

FAILED = "failed: "
"""How the one problem begins after which there is no activated environment at all."""

WHO = "grep -rn {} {{prefix}}/etc/conda {{prefix}}/conda-meta/state"
"""Names the file that sets a variable: a script or a file of variables."""


def activation(scene: Scene) -> Finding:
    """Judge how activation went and what it set; the worst is told first."""
    seen = scene.values("activation")
    found = [*_went_wrong(seen), *_reached(seen, scene), *_set(seen, scene.variables)]
    if not found:
        return Finding(Status.PASS, "activation sets what it should")
    found.sort(key=lambda one: one.status is not Status.FAIL)
    worst, *others = found
    more = tuple(f"also: {one.summary}" for one in others)
    return Finding(worst.status, worst.summary, worst.measured, worst.expected, worst.fix, (*worst.detail, *more))


def _went_wrong(seen: Mapping[str, Any]) -> Iterator[Finding]:
    for problem in map(str, seen["problems"]):
        status = Status.FAIL if problem.startswith(FAILED) else Status.WARN
        yield Finding(status, problem.removeprefix(FAILED))


def _reached(seen: Mapping[str, Any], scene: Scene) -> Iterator[Finding]:
    """Yield a finding where `python` is not the environment's, or where conda takes another one for active."""
    own = f"{scene.prefix}/bin/python"
    if seen.get("has_python") and not seen["python_is_own"]:
        there = seen["python"]
        text = f"after activation `python` is {there}" if there else "after activation PATH finds no `python`"
        yield Finding(Status.FAIL, text, there or "none", own, WHO.format("PATH"))
    if seen.get("conda_prefix_is_own") is False:
        active = seen["conda_prefix"]
        text = f"activation leaves CONDA_PREFIX={active}" if active else "activation leaves CONDA_PREFIX unset"
        yield Finding(Status.FAIL, text, active or "not set", scene.prefix, WHO.format("CONDA_PREFIX"))


def _set(seen: Mapping[str, Any], meant: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each variable that activation changes and that reroutes Python or the loader."""
    changed = seen.get("changed", {})
    if changed.get("PYTHONHOME"):
        text = f"activation sets PYTHONHOME={changed['PYTHONHOME']}: every Python takes its library from there"
        yield Finding(Status.FAIL, text, "PYTHONHOME is set", "not set", WHO.format("PYTHONHOME"))
    missing = seen.get("missing_preloads", ())
    if missing:
        text = f"activation sets LD_PRELOAD={missing[0]}, which does not exist: every program complains of it"
        yield Finding(Status.FAIL, text, f"LD_PRELOAD={missing[0]}", "a library", WHO.format("LD_PRELOAD"))
    python_path = changed.get("PYTHONPATH")
    if python_path and python_path != meant.get("PYTHONPATH"):
        text = f"activation sets PYTHONPATH={python_path}: modules from there come before the environment's own"
        yield Finding(Status.WARN, text, "PYTHONPATH is set", "not set", WHO.format("PYTHONPATH"))
    outside = seen.get("library_folders_outside", ())
    if outside and changed.get("LD_LIBRARY_PATH") != meant.get("LD_LIBRARY_PATH"):
        text = f"activation puts {outside[0]} on LD_LIBRARY_PATH, where libraries of other builds may lie"
        expected = "folders of the environment only"
        yield Finding(Status.WARN, text, ", ".join(outside), expected, WHO.format("LD_LIBRARY_PATH"))


CHECKS = (
    Check(
        id="activation",
        title="it can be activated",
        group="python",
        level=Level.QUICK,
        judge=activation,
        fix="the package that brought the script is named by `conda package --which PATH`; update or remove it",
    ),
)
