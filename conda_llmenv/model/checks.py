"""The validation ladder's words: what was observed, what a check found, and the report of a run."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from conda_llmenv.model.host import HostFacts
from conda_llmenv.model.verdict import Status


class Level(enum.IntEnum):
    """How far up the ladder a run goes; each level includes those below it."""

    QUICK = 1
    FULL = 2
    DEEP = 3

    @property
    def word(self) -> str:
        """The level as a person writes it."""
        return self.name.lower()


class Observation(Struct, frozen=True):
    """What one probe saw for one check.

    Attributes:
        check: id of the check it was asked for.
        values: JSON-ready measurements; empty where ``error`` says why there are none.
        seconds: how long looking took.
        rank: which rank of a distributed run saw it; 0 elsewhere.
        error: the exception that ended the looking (``Type: message``), or an empty string.
        trace: the last lines of its traceback.
    """

    check: str
    values: Mapping[str, Any] = {}
    seconds: float = 0.0
    rank: int = 0
    error: str = ""
    trace: tuple[str, ...] = ()


class ProbeRun(Struct, frozen=True):
    """One process, or one launch of several ranks, that looks for some checks inside an environment.

    Attributes:
        probe: name of the module in ``probes/inside`` that looks.
        checks: ids of what to look for, in order.
        asked: JSON-ready settings of the probe.
        timeout: seconds after which everything it started is ended.
        ranks: processes under torchrun; 0 for one plain process.
        isolated: Python ignores ``PYTHON*`` variables, the user site and the current folder.
    """

    probe: str
    checks: tuple[str, ...]
    asked: Mapping[str, Any] = {}
    timeout: float = 60.0
    ranks: int = 0
    isolated: bool = True


class ProbeEnd(Struct, frozen=True):
    """How a probe run ended.

    Attributes:
        observations: what was printed before the end, in order.
        at_work: ids of checks that began on some rank and did not finish.
        last_steps: rank to the last step it told of.
        timed_out: it was ended for taking too long.
        returncode: exit status; negative for a signal.
        tail: the last lines of other output, without secrets.
        seconds: how long it took.
        strays: command lines of processes that outlived it and were ended.
    """

    observations: tuple[Observation, ...] = ()
    at_work: tuple[str, ...] = ()
    last_steps: Mapping[int, str] = {}
    timed_out: bool = False
    returncode: int = 0
    tail: tuple[str, ...] = ()
    seconds: float = 0.0
    strays: tuple[str, ...] = ()


class Finding(Struct, frozen=True):
    """What judging one check's observations came to.

    Attributes:
        status: see :class:`~conda_llmenv.model.verdict.Status`.
        summary: one sentence (no final full stop).
        measured, expected: the compared values as text, with units.
        fix: the next step; the check's own where this is empty.
        detail: further facts, one line each.
        figures: numbers worth comparing with earlier runs; a name ends in its unit (``busbw_gbs``, ``matmul_tflops``).
    """

    status: Status
    summary: str
    measured: str = ""
    expected: str = ""
    fix: str = ""
    detail: tuple[str, ...] = ()
    figures: Mapping[str, float] = {}


class CheckResult(Struct, frozen=True):
    """One line of a report: a finding with the check it belongs to and the seconds it took."""

    id: str
    group: str
    title: str
    level: Level
    finding: Finding
    seconds: float = 0.0
    reused: bool = False

    @property
    def status(self) -> Status:
        """The status of the finding."""
        return self.finding.status


class Report(Struct, frozen=True):
    """One run of the ladder.

    Attributes:
        prefix: path of the environment.
        level: how far it went.
        started: ISO 8601 UTC time.
        seconds: how long it took.
        results: every check of the level, in the order of the ladder.
        host: facts of the machine; ``hostname`` is its name.
        fingerprint: hash of what was installed, see :mod:`conda_llmenv.prefix.fingerprint`.
        tier, recipe: names, or None.
        versions: name to version of what decides whether training works: python, torch, cuda, nccl, transformers, ….
        llmenv: version of this program.
        ranks: world sizes that were tried.
        reused_from: time of the earlier pass whose results are reused, or an empty string.
        whole: every check of the level was asked for, not only some by ``--only``.
        unproven: why even a pass is no proof here, such as a GPU tier on a machine without one; else empty.
    """

    prefix: str
    level: Level
    started: str
    seconds: float
    results: tuple[CheckResult, ...]
    host: HostFacts
    hostname: str = ""
    fingerprint: str = ""
    tier: str | None = None
    recipe: str | None = None
    versions: Mapping[str, str] = {}
    llmenv: str = ""
    ranks: tuple[int, ...] = ()
    reused_from: str = ""
    whole: bool = True
    unproven: str = ""

    def by_status(self, *statuses: Status) -> tuple[CheckResult, ...]:
        """Return the results of these statuses, in the order of the ladder."""
        return tuple(result for result in self.results if result.status in statuses)
