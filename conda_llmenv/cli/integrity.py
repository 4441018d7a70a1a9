"""The report of an integrity check: the verdict, what does not fit and whose it is, and what to do about it."""

from __future__ import annotations

import itertools
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conda_llmenv.cli import console
from conda_llmenv.prefix.integrity.model import Digest, Finding, Owner, Problem, Report

SHOWN = 20
"""Findings of each kind that are printed; ``--json`` has them all."""

_WORDS = {
    Problem.UNFINISHED: "unfinished",
    Problem.DRIFTED: "not as it was made",
    Problem.ALTERED: "altered",
    Problem.MISSING: "missing",
    Problem.REPLACED: "replaced by pip",
    Problem.COMPILED: "compiled from something else",
    Problem.FOREIGN: "foreign",
}


_NOBODY: Mapping[Problem, list[str]] = {Problem.UNFINISHED: ["llmenv's"], Problem.DRIFTED: ["llmenv's"]}
"""Whose a note is that is no package's."""


def report_integrity(prefix: Path, report: Report, *, as_json: bool) -> None:
    """Print what a check found; the verdict comes first."""
    if as_json:
        console.payload("verify", {"prefix": str(prefix), "integrity": _json(report)}, ok=not report.findings)
        return
    console.out(_verdict(prefix, report))
    for problem, group in itertools.groupby(report.findings, key=lambda finding: finding.problem):
        findings = list(group)
        console.out()
        for finding in findings[:SHOWN]:
            console.out(_line(finding))
        if len(findings) > SHOWN:
            console.out(f"{'':<10}… and {len(findings) - SHOWN} more {_WORDS[problem]}; --json lists them all")
    steps = list(_next_steps(prefix, report))
    if steps:
        console.out()
    for number, step in enumerate(steps):
        console.fact("fix" if number == 0 else "", step)


def digest_json(digest: Digest) -> dict[str, Any]:
    """Return a digest as it stands in a payload."""
    return {"value": digest.value, "parts": dict(digest.parts), "files": digest.files}


def _verdict(prefix: Path, report: Report) -> str:
    seen = f"{report.files} files, {console.size(report.size)}"
    seen += "" if report.contents else ", not read: existence, size, type and mode only"
    if report.unverifiable:
        what = "checksum" if report.contents else "size"
        seen += f"; {report.unverifiable} without a recorded {what}"
    if not report.findings:
        return f"intact: {prefix} is as it was installed ({seen})"
    counts = Counter(finding.problem for finding in report.findings)
    found = ", ".join(f"{counts[problem]} {_WORDS[problem]}" for problem in Problem if counts[problem])
    if counts[Problem.UNFINISHED]:
        why = next(finding.detail for finding in report.findings if finding.problem is Problem.UNFINISHED)
        return f"unfinished: {prefix} is not a whole environment: {why} ({seen})"
    return f"changed: {found} in {prefix} ({seen})"


def _line(finding: Finding) -> str:
    owners = [str(owner) for owner in finding.owners] or _NOBODY.get(finding.problem, ["nobody's"])
    whose = ", now ".join(owners) if finding.problem is Problem.REPLACED else ", ".join(owners)
    detail = f"   {finding.detail}" if finding.detail else ""
    return f"{finding.problem.value:<9} {_shown(finding.path)}   {whose}{detail}"


def _shown(path: str) -> str:
    """Return a path that stays on one line of any terminal, whatever bytes it has."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return text if text.isprintable() else ascii(text)[1:-1]


def _next_steps(prefix: Path, report: Report) -> Iterator[str]:
    place = shlex.quote(str(prefix))
    problems = {one.problem for one in report.findings}
    if Problem.UNFINISHED in problems:
        yield f"make it again with `llmenv create`, or `llmenv remove -p {place}`"
        return
    broken = [one for one in report.findings if one.problem in {Problem.ALTERED, Problem.MISSING}]
    owners = {owner for finding in broken for owner in finding.owners}
    conda = sorted({owner.name for owner in owners if owner.tool == "conda"})
    pip = sorted({f"{owner.name}=={owner.version}" for owner in owners if owner.tool == "pip"})
    shared = sorted({owner.name for finding in broken if _is_shared(prefix, finding) for owner in finding.owners})
    if shared:
        yield f"the package cache shares altered files by hard links: remove {', '.join(shared)} from it first"
    if conda:
        yield f"conda install -p {place} --force-reinstall {' '.join(conda)}"
    if pip:
        python = shlex.quote(str(prefix / "bin" / "python"))
        yield f"{python} -m pip install --force-reinstall --no-deps {' '.join(pip)}"
    if conda or pip:
        yield "or make it again with `llmenv create`"
    if Problem.DRIFTED in problems:
        yield f"`llmenv diff {place}` shows what was changed; make it again with `llmenv create`, or undo the change"
    if Problem.COMPILED in problems:
        yield "remove these compiled files: Python makes them again from their sources"
    if Problem.REPLACED in problems:
        yield "leave to conda or to pip what both have installed: take it out of one of the two sections"
    if Problem.FOREIGN in problems:
        yield "remove the foreign files, or keep them outside the environment"


def _is_shared(prefix: Path, finding: Finding) -> bool:
    """Return whether an altered file has another name, mostly in the cache, from which it would be installed again."""
    try:
        return finding.problem is Problem.ALTERED and (prefix / finding.path).lstat().st_nlink > 1
    except OSError:
        return False


def _json(report: Report) -> dict[str, Any]:
    return {
        "intact": not report.findings,
        "files": report.files,
        "bytes": report.size,
        "unverifiable": report.unverifiable,
        "contents": report.contents,
        "findings": [_finding_json(finding) for finding in report.findings],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "problem": finding.problem.value,
        "path": _shown(finding.path),
        "owners": [_owner_json(owner) for owner in finding.owners],
        "detail": finding.detail,
    }


def _owner_json(owner: Owner) -> dict[str, str]:
    return {"tool": owner.tool, "name": owner.name, "version": owner.version}
