"""Each module that was promised can be imported, on its own and in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conda_llmenv.checks.causes import known_fix
from conda_llmenv.checks.check import Check
from conda_llmenv.checks.endings import how_it_ended
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Observation, ProbeEnd, ProbeRun, Status


def _imports(scene: Scene) -> Finding:
    outcomes = [one.values for one in scene.seen.get("imports", ())]
    broken = [outcome for outcome in outcomes if not outcome["ok"]]
    promised = [outcome for outcome in broken if outcome["promised"]]
    if not outcomes:
        return Finding(Status.SKIP, "no layer promises a module, and no package that was asked for has one")
    counted = f"{len(outcomes) - len(broken)} of {len(outcomes)} modules"
    if not broken:
        return Finding(Status.PASS, f"{counted} can be imported", counted, "all of them")
    first = (promised or broken)[0]
    return Finding(
        Status.FAIL if promised else Status.WARN,
        f"{first['module']} cannot be imported: {first['reason']}" + _more(len(broken) - 1),
        counted,
        "all of them",
        first.get("fix", ""),
        tuple(_line(outcome) for outcome in broken),
    )


def import_observation(run: ProbeRun, end: ProbeEnd, *, promised: bool) -> Observation:
    """Return one module's import as an observation, whatever way it took: a crash or a hang is an answer too."""
    seen = next((one for one in end.observations if one.check == "imports" and not one.error), None)
    values = {"module": run.asked["module"], "ok": False, "reason": how_it_ended(run, end)}
    values |= {**(seen.values if seen else {}), "promised": promised}
    broken = next((one for one in end.observations if one.check == "imports" and one.error), None)
    if broken is not None:
        values["reason"] = broken.error
    elif not seen and end.tail:
        values["reason"] = f"{values['reason']}: {end.tail[-1]}"
    if end.strays:
        values["left"] = list(end.strays)
    if not values["ok"]:
        values["fix"] = known_fix((str(values["reason"]), *end.tail))
    return Observation("imports", values, end.seconds)


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""


def _line(outcome: Mapping[str, Any]) -> str:
    hint = f"; {outcome['fix']}" if outcome.get("fix") else ""
    return f"{outcome['module']}: {outcome['reason']}{hint}"


CHECKS = (
    Check(
        id="imports",
        title="what was promised can be imported",
        group="imports",
        level=Level.FULL,
        judge=_imports,
        probe="imports",
        fix="install what the message names, or take the module out of the recipe's `verify: {imports: …}`",
    ),
)
