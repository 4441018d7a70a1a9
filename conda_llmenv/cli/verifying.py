"""Puts the adapters behind the ladder's ports, for the commands that verify."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv import process
from conda_llmenv.checks.check import Check
from conda_llmenv.cli.wiring import host_facts, library, signals_as_exceptions, tables
from conda_llmenv.errors import LlmenvError, PrefixError
from conda_llmenv.host import host_root
from conda_llmenv.model import CheckResult, Fragment, Level, Notice, Phase, ProbeEnd, ProbeRun, Report
from conda_llmenv.pipeline.verify_tools import Subject, Unwatched, VerifyRequest, VerifyTools, Watcher
from conda_llmenv.ports import Reporter
from conda_llmenv.prefix.state import read_spec, read_state, write_state
from conda_llmenv.prefix.variables import read_variables
from conda_llmenv.probes.running import run_probe


def subject_of(prefix: Path) -> Subject:
    """Return what an environment is for, as it was noted when it was made; nothing is known of one that is not ours.

    Raises:
        PrefixError: what was noted cannot be read.
    """
    asked: Mapping[str, Any] = (read_spec(prefix) or {}).get("asked", {})
    return Subject(
        prefix=prefix,
        tier=asked.get("tier"),
        recipe=asked.get("recipe"),
        cuda_tier=bool(asked.get("virtual_packages", {}).get("__cuda")),
        settings=asked.get("verify", {}),
        packages=_packages(asked),
        variables=read_variables(prefix),
    )


def _packages(asked: Mapping[str, Any]) -> tuple[str, ...]:
    conda = (str(one["name"]) for one in asked.get("dependencies", ()))
    pip = (str(one["name"]) for one in asked.get("pip", {}).get("requirements", ()) if one.get("name"))
    return tuple(dict.fromkeys((*conda, *pip)))


def verify_tools(prefix: Path, watcher: Watcher | None = None) -> VerifyTools:
    """Return the ladder's tools for one environment, as they are for a person who has activated it."""
    from conda_llmenv.cli import remembering
    from conda_llmenv.prefix.fingerprint import fingerprint
    from conda_llmenv.prefix.in_force import in_force
    from conda_llmenv.prefix.inspect import has_python

    activated = _activated(prefix)
    store = remembering.report_store()

    def probe(place: Path, run: ProbeRun) -> ProbeEnd:
        """Run a probe with activation's variables, or with the person's own where it is not isolated."""
        return run_probe(place, run, activated.environ if run.isolated else os.environ)

    def earlier(place: Path | None, state: str = "") -> Iterable[Report]:
        """Return reports on record; those of one environment are relied on, so they have to be trusted ones."""
        return store.reports(place, fingerprint=state, trusted=place is not None)

    return VerifyTools(
        probe=probe,
        activation_problems=activated.problems,
        in_force=in_force(prefix, os.environ, activated.environ),
        host=host_facts,
        tables=tables,
        tier=_tier,
        has_python=has_python,
        fingerprint=fingerprint,
        earlier=earlier,
        keep=functools.partial(remembering.keep, store),
        mark=mark,
        environ=os.environ,
        hostname=platform.node(),
        root=str(host_root(os.environ)),
        folder=str(Path.cwd()),
        watcher=watcher or Unwatched(),
    )


def _tier(name: str) -> Fragment | str:
    """Return a tier as it is here and now, or why it cannot be read."""
    from conda_llmenv.compose import read_tier

    try:
        return read_tier(name, library())
    except LlmenvError as error:
        return error.message


class _Activation(Struct, frozen=True):
    """The variables of an activated shell, and what did not go well on the way to them."""

    environ: Mapping[str, str]
    problems: tuple[str, ...]


def _activated(prefix: Path) -> _Activation:
    """Activate an environment; where that fails, nothing but its commands and variables is in force."""
    from conda_llmenv.prefix.activated import activated_environ

    try:
        found = activated_environ(prefix, os.environ, process.run)
    except PrefixError as error:
        path = f"{prefix / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        return _Activation({**os.environ, "PATH": path, "CONDA_PREFIX": str(prefix)}, (f"failed: {error.message}",))
    return _Activation(found.environ, tuple(notice.message for notice in found.notices))


def run_ladder(request: VerifyRequest, *, shown: bool = False) -> tuple[Report, tuple[Notice, ...]]:
    """Go up the ladder and put the report on record; on a terminal, with a table of what has been found so far."""
    from conda_llmenv.cli.live import live_table
    from conda_llmenv.pipeline.preflight import preflight
    from conda_llmenv.pipeline.verify import conclude, verify

    with signals_as_exceptions(), live_table(shown=shown) as live:
        tools = verify_tools(request.subject.prefix, live)
        climb = preflight if request.level is Level.QUICK and not request.only else verify
        report = climb(request, tools)
        return report, conclude(report, request.subject, tools)


def mark(prefix: Path, phase: Phase, reason: str) -> tuple[Notice, ...]:
    """Note in an environment of ours whether it is verified; a notice says where that could not be written."""
    try:
        state = read_state(prefix)
        if state is not None and state.phase in {Phase.CREATED, Phase.VERIFIED}:
            write_state(prefix, replace(state, phase=phase, reason=reason))
    except (OSError, PrefixError) as error:
        why = error.message if isinstance(error, PrefixError) else error.strerror or str(error)
        return (Notice("state-not-written", f"whether {prefix} is verified could not be noted in it: {why}"),)
    return ()


class LadderProgress:
    """Tells a command's progress display how far the ladder is."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._done = self._total = 0

    def begin(self, checks: Sequence[Check]) -> None:
        """Count from nothing."""
        self._done, self._total = 0, len(checks)

    def stage(self, checks: Sequence[Check]) -> None:
        """Name what is looked for next."""
        self._reporter.start("check", self._total, ", ".join(check.id for check in checks))

    def result(self, result: CheckResult) -> None:
        """Count one more."""
        self._done += 1
        self._reporter.advance("check", self._done, self._total)
        if self._done == self._total:
            self._reporter.finish("check")
