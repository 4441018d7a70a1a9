"""Runs one probe to its end: isolated, with the variables activation sets, ended with everything it started."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conda_llmenv import process
from conda_llmenv.model import ProbeEnd, ProbeRun
from conda_llmenv.probes.reading import Reading
from conda_llmenv.probes.strays import MARK, end_strays

ENTRY = Path(__file__).parent / "inside" / "entry.py"

PYTHON_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONINSPECT", "PYTHONWARNINGS")
"""What changes an interpreter that is not isolated, or one that an isolated one starts."""

RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK")
"""Left by a launcher that we were started from; a probe's own torchrun sets them anew."""


def run_probe(prefix: Path, run: ProbeRun, environ: Mapping[str, str]) -> ProbeEnd:
    """Run a probe inside an environment.

    Args:
        prefix: the environment; its ``bin/python`` runs.
        run: what to look for and how long.
        environ: the variables of an activated shell.
    """
    mark, nonce = uuid.uuid4().hex, uuid.uuid4().hex
    reading = Reading(nonce)
    started = time.monotonic()
    strays: list[str] = []
    try:
        done = process.run(
            _argv(prefix, run, nonce),
            env={**_environ(environ, run), MARK: mark},
            cwd=prefix,
            timeout=run.timeout,
            on_output=reading.line,
            on_end=lambda: strays.extend(end_strays(mark)),
        )
    except OSError as error:
        return ProbeEnd(returncode=127, tail=(f"{prefix / 'bin' / 'python'}: {error.strerror or error}",))
    return reading.end(done, seconds=time.monotonic() - started, strays=tuple(strays))


def _argv(prefix: Path, run: ProbeRun, nonce: str) -> list[str]:
    asked: dict[str, Any] = {**run.asked, "checks": list(dict.fromkeys(run.checks)), "prefix": str(prefix)}
    name = run.probe
    if run.ranks:
        name, asked = "launch", {"probe": run.probe, "ranks": run.ranks, "asked": asked}
    asked["nonce"] = nonce
    flags = ["-I"] if run.isolated else []
    return [str(prefix / "bin" / "python"), *flags, str(ENTRY), name, json.dumps(asked)]


def _environ(environ: Mapping[str, str], run: ProbeRun) -> dict[str, str]:
    """Return the variables of a probe; a torchrun started in it starts ranks that find the same."""
    if not run.isolated:
        return dict(environ)
    dropped = {*PYTHON_VARIABLES, *RANK_VARIABLES}
    return {
        **{name: value for name, value in environ.items() if name not in dropped},
        "PYTHONNOUSERSITE": "1",
        "PYTHONSAFEPATH": "1",
    }
