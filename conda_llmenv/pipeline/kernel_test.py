"""Try a registered kernel as a client would start it, and judge what it turned out to be."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from conda_llmenv.model import CheckResult, Finding, Level, Observation, ProbeEnd, ProbeRun, Status
from conda_llmenv.model.kernels import Kernelspec
from conda_llmenv.pipeline.kernel_tools import KernelTools
from conda_llmenv.ports import Prober

SECONDS = 180.0
"""How long all of it may take besides the imports."""

IMPORT_SECONDS = 120.0

GROUP = "kernel"


class Trial(Struct, frozen=True):
    """What to try.

    Attributes:
        spec: the kernelspec.
        client: the environment whose jupyter_client starts it.
        modules: what has to be importable in it.
        environ: Python's own variables of the calling shell, which a client would hand on.
        hidden_by: another kernelspec of the same name that clients find first, if there is one.
    """

    spec: Kernelspec
    client: Path
    modules: tuple[str, ...] = ()
    environ: Mapping[str, str] = {}
    hidden_by: Kernelspec | None = None


def hiding(spec: Kernelspec, tools: KernelTools) -> Kernelspec | None:
    """Return the kernelspec that clients of this account find under a name instead of the one that is meant."""
    same = [other for other in tools.read(tools.places) if other.name == spec.name]
    reached = any(other.folder == spec.folder for other in same)
    return same[0] if reached and same[0].folder != spec.folder else None


def try_kernel(trial: Trial, probe: Prober) -> tuple[CheckResult, ...]:
    """Start a kernel, look at it, end it, and return what each step came to."""
    spec = trial.spec
    asked: dict[str, Any] = {
        "name": spec.folder.name.lower(),
        "kernels": str(spec.folder.parent),
        "starts": str(spec.prefix or ""),
        "modules": list(trial.modules),
        "environ": dict(trial.environ),
    }
    limit = SECONDS + IMPORT_SECONDS * len(trial.modules)
    end = probe(trial.client, ProbeRun("kernel", (), asked, timeout=limit))
    seen = {one.check: one for one in end.observations}
    return tuple(_judged(trial, seen, end))


def _judged(trial: Trial, seen: Mapping[str, Observation], end: ProbeEnd) -> Iterator[CheckResult]:
    started = seen.get("start")
    if trial.hidden_by is not None:
        yield CheckResult("found", GROUP, TITLES["found"], Level.FULL, _hidden(trial.hidden_by))
    yield _result("start", started, end, _started)
    if started is None or started.error:
        yield _result("shutdown", seen.get("shutdown"), end, _ended, end.strays)
        return
    if started.values.get("language") == "python":
        yield _result("prefix", seen.get("environment"), end, _in_prefix, trial.spec)
        yield _result("activation", seen.get("environment"), end, _activated, trial.spec)
        for module in trial.modules:
            yield _result(f"import {module}", seen.get(f"import {module}"), end, _imported, module)
        yield _result("interrupt", seen.get("interrupt"), end, _interrupted)
    yield _result("shutdown", seen.get("shutdown"), end, _ended, end.strays)


def _result(
    check: str, seen: Observation | None, end: ProbeEnd, judge: Callable[..., Finding], *more: object
) -> CheckResult:
    if seen is None:
        finding = _unseen(check, end)
    elif seen.error:
        detail = [line for line in end.tail if line.strip() not in seen.error][-6:]
        finding = Finding(Status.FAIL, f"{_failed(check)}: {seen.error}", detail=tuple(detail))
    else:
        finding = judge(seen.values, *more)
    seconds = seen.seconds if seen is not None else 0.0
    return CheckResult(check, GROUP, TITLES.get(check.partition(" ")[0], check), Level.FULL, finding, round(seconds, 3))


TITLES = {
    "found": "Clients find it by its name",
    "start": "The kernel starts and answers",
    "prefix": "It runs the environment's Python",
    "activation": "What activation sets is in force",
    "import": "What the recipe promises can be imported",
    "interrupt": "An interrupt ends what it runs, and it goes on",
    "shutdown": "It ends when it is asked to, and leaves nothing behind",
}


def _failed(check: str) -> str:
    told = {"start": "it does not start", "interrupt": "it does not stop", "shutdown": "it cannot be shut down"}
    return told.get(check, "it does not answer")


def _unseen(check: str, end: ProbeEnd) -> Finding:
    if any("jupyter_client" in line for line in end.tail):
        return Finding(
            Status.ERROR, "there is no jupyter_client in the environment to start it with", detail=end.tail[-3:]
        )
    why = "it took too long" if end.timed_out else f"the client ended with status {end.returncode}"
    status = Status.FAIL if check in end.at_work else Status.ERROR
    step = "".join(f" while {step}" for step in list(end.last_steps.values())[:1])
    return Finding(status, f"{check} came to no end: {why}{step}", detail=end.tail[-6:])


def _hidden(other: Kernelspec) -> Finding:
    summary = f"clients find {other.folder} under this name, and start that"
    return Finding(Status.WARN, summary, fix="register it under another name with `llmenv kernel add --name`")


def _started(values: Mapping[str, Any]) -> Finding:
    what = f"{values['implementation']} {values['implementation_version']}, {values['language']}"
    figures = {"ready_seconds": float(values["seconds_to_ready"])}
    summary = f"ready in {values['seconds_to_ready']:.1f} s ({what} {values['language_version']})"
    return Finding(Status.PASS, summary, figures=figures)


def _in_prefix(values: Mapping[str, Any], spec: Kernelspec) -> Finding:
    if values["same"]:
        return Finding(Status.PASS, f"sys.prefix is {values['prefix']}")
    return Finding(
        Status.FAIL,
        f"it runs in {values['prefix']} and not in {spec.prefix}",
        measured=f"sys.prefix {values['prefix']}",
        expected=str(spec.prefix),
        fix=_again(spec),
    )


def _activated(values: Mapping[str, Any], spec: Kernelspec) -> Finding:
    if values["missing"]:
        names = ", ".join(values["missing"])
        return Finding(_missed(spec), f"not set as the environment says: {names}", fix=_again(spec))
    if not values["first"]:
        return Finding(
            _missed(spec), f"first on PATH is {values['path']}", expected=f"{spec.prefix}/bin", fix=_again(spec)
        )
    if values["notes"]:
        first, *others = values["notes"]
        return Finding(Status.WARN, str(first), fix="repair or remove that script", detail=tuple(map(str, others)))
    if values["user_site"]:
        summary = "packages in ~/.local win over those of the environment"
        return Finding(Status.WARN, summary, fix=_again(spec))
    return Finding(Status.PASS, "PATH, variables and the user site are as activation sets them")


def _missed(spec: Kernelspec) -> Status:
    """Others do not promise that activation is in force."""
    return Status.FAIL if spec.ours else Status.WARN


def _again(spec: Kernelspec) -> str:
    if spec.ours:
        return f"llmenv kernel repair {spec.name}"
    return f"llmenv kernel add -p {shlex.quote(str(spec.prefix))}" if spec.prefix else ""


def _imported(values: Mapping[str, Any], module: str) -> Finding:
    if values["error"]:
        return Finding(Status.FAIL, f"{module} cannot be imported: {values['error']}")
    return Finding(Status.PASS, f"{module} imported in {values['import_seconds']:.1f} s")


def _interrupted(values: Mapping[str, Any]) -> Finding:
    if values["ename"] != "KeyboardInterrupt":
        return Finding(Status.FAIL, f"the loop ended with {values['ename'] or 'nothing'}", expected="KeyboardInterrupt")
    if values["after"]:
        return Finding(Status.FAIL, f"it does not go on after an interrupt: {values['after']}")
    return Finding(Status.PASS, f"a loop ended {values['seconds']:.1f} s after the interrupt, and the kernel went on")


def _ended(values: Mapping[str, Any], strays: Sequence[str]) -> Finding:
    if not values["gone"] or strays:
        return Finding(Status.FAIL, "it left processes running, which were ended", detail=tuple(strays[:6]))
    return Finding(Status.PASS, f"gone {values['seconds']:.1f} s after it was asked to")
