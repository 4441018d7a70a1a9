"""What says what is installed can be read: the records of conda and the metadata of distributions."""

from __future__ import annotations

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status


def records(scene: Scene) -> Finding:
    """Judge the files; with one of them broken, conda and pip neither list nor update what is there."""
    seen = scene.values("records")
    broken = seen["broken"]
    if not broken:
        return Finding(Status.PASS, f"each of {seen['records']} records of conda can be read")
    lines = tuple(f"{one['path']}: {one['why']}" for one in broken)
    text = f"{broken[0]['path']} is broken: {broken[0]['why']}"
    return Finding(Status.FAIL, text, f"{len(broken)} broken records", "none", detail=lines[1:])


CHECKS = (
    Check(
        "records",
        "the records of what is installed can be read",
        "runtime",
        Level.QUICK,
        records,
        fix="llmenv verify -p {prefix} --integrity",
        probe="runtime",
    ),
)
