"""The first proof that an environment works: its own Python imports what the layers promise, one process each."""

from __future__ import annotations

import time
from pathlib import Path

from msgspec import Struct

from conda_llmenv.pipeline.tools import Tools

IMPORT_SECONDS = 180.0
"""A cold ``import torch`` from a network disk can take a minute; one that takes longer hangs."""

DROPPED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "LD_PRELOAD", "LD_LIBRARY_PATH")
"""Variables of the calling shell that could make an import succeed or fail for a reason outside the environment."""


class ImportOutcome(Struct, frozen=True):
    """Whether one module can be imported, the last line of the reason if not, and how long it took."""

    module: str
    ok: bool
    reason: str
    seconds: float


def check_imports(prefix: Path, modules: tuple[str, ...], tools: Tools) -> tuple[ImportOutcome, ...]:
    """Import each module in a process of its own with the environment's Python, isolated from user site and shell."""
    if not modules:
        return ()
    tools.reporter.start("check", len(modules))
    outcomes = []
    for done, module in enumerate(modules, start=1):
        outcomes.append(_import(prefix, module, tools))
        tools.reporter.advance("check", done, len(modules))
    tools.reporter.finish("check")
    return tuple(outcomes)


def _import(prefix: Path, module: str, tools: Tools) -> ImportOutcome:
    started = time.monotonic()
    env = {key: value for key, value in tools.environ.items() if key not in DROPPED}
    code = "import importlib, sys; importlib.import_module(sys.argv[1])"
    done = tools.run([str(prefix / "bin" / "python"), "-I", "-c", code, module], env=env, timeout=IMPORT_SECONDS)
    lines = done.stderr.strip().splitlines()
    reason = (
        f"no answer in {IMPORT_SECONDS:.0f} s" if done.timed_out else (lines[-1] if lines else _signal(done.returncode))
    )
    ok = done.returncode == 0 and not done.timed_out
    return ImportOutcome(module, ok, "" if ok else reason, round(time.monotonic() - started, 2))


def _signal(returncode: int) -> str:
    return f"ended by signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
