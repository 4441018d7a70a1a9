"""The environment can be activated, and has a whole Python of its own: what everything else is looked at with."""

from __future__ import annotations

import re
import shlex

from conda_llmenv.checks import python_activation
from conda_llmenv.checks.check import PYTHON, Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status

SHOWN = 10

_PTH = re.compile(r"Error processing line \d+ of (?P<file>.+?):?")
_CUSTOMIZING = re.compile(r"Error in (?P<module>sitecustomize|usercustomize)\b.*")
"""How :mod:`site` begins what it says of a failure while Python starts."""

_ANEW = "make the environment again: `llmenv create … -y` replaces it"


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


def _library(scene: Scene) -> Finding:
    seen = scene.values("standard-library")
    broken, lacking = seen["broken"], seen["lacking"]
    lines = tuple(f"{one['name']}: {one['error']}" for one in broken[:SHOWN])
    if broken:
        text = f"{broken[0]['name']} of the standard library cannot be imported: {broken[0]['error']}"
        return Finding(Status.FAIL, text, f"{len(broken)} modules fail", "none", detail=lines[1:])
    if lacking:
        text = f"this Python was built without {', '.join(lacking)}"
        fix = "harmless unless something imports them; conda-forge's Python has all: `llmenv create … python`"
        return Finding(Status.WARN, text, ", ".join(lacking), "none is lacking", fix)
    return Finding(Status.PASS, "what training needs of the standard library can be imported")


def _start_up(scene: Scene) -> Finding:
    """Judge what Python says as it starts; the first failure that names its file is the one to show."""
    seen = scene.values("start-up")
    lines = [str(line) for line in seen["lines"]]
    if seen["code"]:
        text = f"an empty start of Python ends with exit code {seen['code']}"
        return Finding(Status.FAIL, text, f"exit code {seen['code']}", "0", _ANEW, tuple(lines[-SHOWN:]))
    if not lines:
        return Finding(Status.PASS, "Python starts without a word")
    customizing = seen["customizing"]
    for line in lines:
        if match := _PTH.fullmatch(line):
            return _at_every_start(match["file"], "has a line that fails", lines)
        if match := _CUSTOMIZING.fullmatch(line):
            return _at_every_start(customizing.get(match["module"]) or match["module"], "fails", lines)
    text = f"every start of Python says: {lines[0]}"
    fix = "{prefix}/bin/python -I -v -c pass 2>&1 | less"
    return Finding(Status.WARN, text, f"{len(lines)} lines", "none", fix, tuple(lines[1:SHOWN]))


def _at_every_start(file: str, what: str, lines: list[str]) -> Finding:
    texts = [line.strip() for line in lines if line.strip()]
    error = next(
        (text for text in texts if re.match(r"\w*(?:Error|Exception|Exit)\b", text) and text[:6] != "Error "), ""
    )
    return Finding(
        Status.WARN,
        f"{file} {what} at every start of Python{f': {error}' if error else ''}",
        measured="an error at every start",
        expected="a start without a word",
        fix=f"repair or remove {shlex.quote(file)}",
        detail=tuple(texts[:SHOWN]),
    )


CHECKS = (
    *python_activation.CHECKS,
    Check(
        id=PYTHON,
        title="its own Python runs",
        group="python",
        level=Level.QUICK,
        judge=_python,
        probe="python",
        fix=_ANEW,
    ),
    Check(
        id="start-up",
        title="Python starts without an error",
        group="python",
        level=Level.QUICK,
        judge=_start_up,
        probe="python",
        fix=_ANEW,
    ),
    Check(
        id="standard-library",
        title="the standard library is whole",
        group="python",
        level=Level.QUICK,
        judge=_library,
        probe="python",
        fix="llmenv verify -p {prefix} --integrity",
    ),
)
