"""Runs a probe in a real interpreter and judges what it saw, as the ladder does."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from conda_llmenv.checks.outcome import judged
from conda_llmenv.checks.registry import BY_ID
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import Finding, HostFacts, Observation, ProbeEnd, ProbeRun
from conda_llmenv.probes.running import run_probe

BOOKKEEPER = "multiprocessing.resource_tracker"
"""A process of Python's that ends by itself once it sees that nobody is left, which is a moment later."""


def look(
    prefix: Path,
    checks: tuple[str, ...],
    asked: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    timeout: float = 200.0,
) -> tuple[dict[str, Finding], ProbeEnd]:
    """Return what the checks of one probe come to and how the probe ended; nothing may outlive it."""
    run = ProbeRun(BY_ID[checks[0]].probe, checks, asked or {}, timeout=timeout)
    end = run_probe(prefix, run, {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **(environ or {})})
    seen: dict[str, tuple[Observation, ...]] = {}
    for one in end.observations:
        seen[one.check] = (*seen.get(one.check, ()), one)
    scene = Scene(str(prefix), HostFacts("linux-64"), load_tables(), seen=seen)
    findings = {check: judged(BY_ID[check], scene, [(run, end)]) for check in checks}
    return {check: one if one.fix else replace(one, fix=BY_ID[check].fix) for check, one in findings.items()}, end


def found(prefix: Path, check: str, asked: Mapping[str, Any] | None = None, **more: Any) -> Finding:
    """Return what one check comes to; its probe must end by itself and leave no process."""
    findings, end = look(prefix, (check,), asked, **more)
    assert not [command for command in end.strays if BOOKKEEPER not in command], end.strays
    assert not end.timed_out
    return findings[check]


def wrapped(folder: Path, prefix: Path, before: str, *, root: bool = False) -> Path:
    """Return a prefix whose Python is that of another one, started by a shell line with ``{python}`` in it.

    With ``root`` the line may mount file systems and cut the network off: it gets namespaces of its own.
    """
    new = folder / "wrapped"
    (new / "bin").mkdir(parents=True)
    line = before.format(python=f'{shlex.quote(str(prefix / "bin" / "python"))} "$@"')
    if root:
        line = f'exec {" ".join(namespaces())} sh -c {shlex.quote(line)} sh "$@"'
    script = new / "bin" / "python"
    script.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    script.chmod(0o755)
    return new


def namespaces() -> list[str]:
    """Return what starts a program with mounts and a network of its own; skip the test where that is not allowed."""
    own = ["--mount", "--net"] if os.geteuid() == 0 else ["--map-root-user", "--mount", "--net"]
    argv = ["unshare", *own]
    try:
        done = subprocess.run([*argv, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if done.returncode:
        pytest.skip(f"no namespaces of one's own here: {done.stderr.strip()}")
    return argv
