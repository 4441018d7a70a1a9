"""Where modules are found: nothing of a user site or PYTHONPATH comes before the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status

SHOWN = 10

ALLOCATORS = ("libjemalloc", "libtcmalloc", "libmimalloc")
"""Libraries that people preload on purpose, and that replace nothing torch is built with."""


def user_site(scene: Scene) -> Finding:
    """Judge the packages of a person's own folder: they come before those of the environment unless kept out."""
    seen = scene.values("user-site")
    folder, shadowed = seen["folder"], seen["shadowed"]
    if seen["immune"] or not seen["names"]:
        why = "this environment leaves the user site out" if seen["immune"] else f"nothing in {folder}"
        return Finding(Status.PASS, f"no module of a user site can be imported: {why}")
    protected = bool(scene.variables.get("PYTHONNOUSERSITE"))
    if not shadowed:
        return _only_additions(folder, seen["names"], protected=protected)
    worst, detail = shadowed[0], _lines(shadowed)
    expected = "no module of a user site before those of the environment"
    if protected or seen["flag"]:
        by = "activation" if protected else "this shell"
        return Finding(
            Status.WARN,
            f"{worst['path']} shadows {worst['name']} of the environment wherever it runs without {_without(by)}",
            measured=f"{len(shadowed)} shadowed modules in {folder}, kept out by {by} (PYTHONNOUSERSITE)",
            expected=expected,
            fix="set PYTHONNOUSERSITE=1 in job scripts that call its python directly: export PYTHONNOUSERSITE=1",
            detail=detail,
        )
    return Finding(
        Status.FAIL,
        f"{worst['path']} is imported in place of {worst['own']}",
        measured=f"{len(shadowed)} shadowed modules in {folder}",
        expected=expected,
        fix="export PYTHONNOUSERSITE=1",
        detail=detail,
    )


def _without(by: str) -> str:
    return "activation" if by == "activation" else "PYTHONNOUSERSITE of this shell"


def _only_additions(folder: str, count: int, *, protected: bool) -> Finding:
    if protected:
        return Finding(Status.PASS, f"the {count} modules in {folder} shadow nothing, and activation keeps them out")
    return Finding(
        Status.WARN,
        f"{count} modules in {folder} can be imported here and nowhere else",
        measured=f"{count} modules",
        expected="only modules of the environment",
        fix="export PYTHONNOUSERSITE=1",
    )


def _lines(shadowed: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    lines = [f"{one['path']} comes before {one['own']}" for one in shadowed[:SHOWN]]
    left = len(shadowed) - SHOWN
    return (*lines, f"and {left} more") if left > 0 else tuple(lines)


def search_paths(scene: Scene) -> Finding:
    """Judge what variables and ``.pth`` files add to the places that modules come from; the worst is told first."""
    seen = scene.values("search-paths")
    meant = scene.variables.get("PYTHONPATH", "").split(":")
    found = [*_interpreter(seen, scene.prefix), *_elsewhere(seen), *_python_path(seen, meant), *_pth(seen)]
    found += _preloaded(seen)
    if not found:
        return Finding(
            Status.PASS, "modules are found in the environment and its own Python only", detail=_editable(seen)
        )
    found.sort(key=lambda one: one.status is not Status.FAIL)
    worst, *others = found
    return Finding(
        worst.status,
        worst.summary,
        worst.measured,
        worst.expected,
        worst.fix,
        (*worst.detail, *(f"also: {one.summary}" for one in others), *_editable(seen)),
    )


def _interpreter(seen: Mapping[str, Any], prefix: str) -> list[Finding]:
    found = []
    if seen["pythonhome"]:
        text = f"PYTHONHOME={seen['pythonhome']} makes every Python take its library from there"
        found.append(Finding(Status.FAIL, text, "PYTHONHOME is set", "not set", "unset PYTHONHOME"))
    elif not seen["own"]:
        text = f"the Python of {prefix} takes its packages from {seen['prefix']}"
        fix = f"create the environment anew: {prefix} was copied or moved"
        found.append(Finding(Status.FAIL, text, f"sys.prefix is {seen['prefix']}", prefix, fix))
    return found


def _python_path(seen: Mapping[str, Any], meant: Sequence[str]) -> list[Finding]:
    """An entry that shadows something fails; any other that activation does not set warns: jobs elsewhere lack it."""
    strange = [place for place in seen["pythonpath"] if place["entry"] not in meant or place["shadowed"]]
    outside = [place for place in strange if not place["inside"]]
    if not outside:
        return []
    expected = "no PYTHONPATH that leads out of the environment"
    measured = f"PYTHONPATH has {', '.join(place['entry'] for place in outside)}"
    shadowed = [one for place in outside for one in place["shadowed"]]
    if shadowed:
        text = f"PYTHONPATH puts {shadowed[0]['path']} before {shadowed[0]['name']} of {_owner(shadowed[0])}"
        return [Finding(Status.FAIL, text, measured, expected, "unset PYTHONPATH", _lines(shadowed))]
    text = f"PYTHONPATH adds {outside[0]['entry']} to every Python that is started from this shell"
    return [Finding(Status.WARN, text, measured, expected, "unset PYTHONPATH")]


def _owner(shadowed: Mapping[str, str]) -> str:
    return "the environment" if shadowed["own"].startswith("/") else shadowed["own"]


def _pth(seen: Mapping[str, Any]) -> list[Finding]:
    """A folder that a ``.pth`` file adds comes last: only a name that the environment has too is a trap."""
    return [
        Finding(
            Status.WARN,
            f"{place['file']} adds {place['entry']}, which has {place['shadowed'][0]['name']} of the environment too",
            measured=f"{len(place['shadowed'])} modules are in both",
            expected="folders with modules of their own only",
            fix=f"remove the line of {place['entry']} from {place['file']}",
            detail=_lines(place["shadowed"]),
        )
        for place in seen["pth"]
        if place["shadowed"]
    ]


def _elsewhere(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each folder from elsewhere on ``sys.path`` that comes first or has a name of ours."""
    for place in seen.get("elsewhere", ()):
        entry, by, shadowed = place["entry"], place["file"], place["shadowed"]
        if not place["before"] and not shadowed:
            continue
        who = f"{by} puts {entry}" if by else f"something that Python imports as it starts puts {entry}"
        where = "before the environment's own modules" if place["before"] else "on the search path"
        names = f", and it has {shadowed[0]['name']} of {_owner(shadowed[0])} too" if shadowed else ""
        yield Finding(
            Status.FAIL if shadowed and place["before"] else Status.WARN,
            f"{who} {where}{names}",
            measured=f"sys.path has {entry}",
            expected="nothing from elsewhere before the environment's own modules",
            fix=f"remove the line of {entry} from {by}" if by else "{prefix}/bin/python -v -c pass 2>&1 | less",
            detail=_lines(shadowed),
        )


def _editable(seen: Mapping[str, Any]) -> tuple[str, ...]:
    added = [*seen["pth"], *(place for place in seen.get("elsewhere", ()) if not place["before"] and place["file"])]
    return tuple(f"{place['file']} adds {place['entry']}" for place in added[:SHOWN] if not place["shadowed"])


def _preloaded(seen: Mapping[str, Any]) -> list[Finding]:
    entries = [one["entry"] for one in seen["searched"] if one["variable"] == "LD_PRELOAD"]
    strange = [entry for entry in entries if not any(name in entry for name in ALLOCATORS)]
    if not strange:
        return []
    text = f"LD_PRELOAD loads {strange[0]} into every program before the environment's own libraries"
    measured = f"LD_PRELOAD={':'.join(entries)}"
    return [Finding(Status.WARN, text, measured, "not set", "unset LD_PRELOAD")]


CHECKS = (
    Check(
        "user-site",
        "no package of a user site is in the way",
        "runtime",
        Level.QUICK,
        user_site,
        fix="export PYTHONNOUSERSITE=1",
        probe="paths",
    ),
    Check(
        "search-paths",
        "modules come from the environment only",
        "runtime",
        Level.QUICK,
        search_paths,
        fix="unset PYTHONPATH PYTHONHOME LD_PRELOAD",
        probe="paths",
    ),
)
