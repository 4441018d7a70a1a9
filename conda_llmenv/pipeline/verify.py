"""Go up the validation ladder inside an environment: look with probes, judge, and put the report together."""

from __future__ import annotations

import datetime as dt
import shlex
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from conda_llmenv import __version__
from conda_llmenv.checks import outcome
from conda_llmenv.checks.baseline import compare
from conda_llmenv.checks.check import Check
from conda_llmenv.checks.imports import import_observation
from conda_llmenv.checks.registry import selected, with_needed
from conda_llmenv.checks.runs import DATA_WORKERS, Course, runs_of, stages
from conda_llmenv.checks.scene import Scene
from conda_llmenv.checks.verdict import proves, sentence
from conda_llmenv.checks.versions import versions_of
from conda_llmenv.errors import InputError
from conda_llmenv.model import (
    CheckResult,
    Finding,
    HostFacts,
    Notice,
    Observation,
    Phase,
    ProbeEnd,
    ProbeRun,
    Report,
    Status,
)
from conda_llmenv.pipeline.verify_tools import Subject, VerifyRequest, VerifyTools

AT_ONCE = 2
"""Modules that are imported side by side: a cold import waits for the disk most of the time."""

CPU_WORLDS = (2, 4)
"""World sizes that are tried with gloo where there is no GPU."""


def verify(request: VerifyRequest, tools: VerifyTools) -> Report:
    """Look at an environment and return what was found; nothing is written.

    Raises:
        InputError: ``only`` names a check that does not exist.
    """
    started, clock = dt.datetime.now(dt.timezone.utc), time.monotonic()
    ladder = _Ladder(request, tools)
    results = ladder.climb()
    scene, subject = ladder.scene, request.subject
    report = Report(
        prefix=str(subject.prefix),
        level=request.level,
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - clock, 2),
        results=results,
        host=scene.host,
        hostname=tools.hostname,
        fingerprint=tools.fingerprint(subject.prefix),
        tier=subject.tier,
        recipe=subject.recipe,
        versions=versions_of(scene),
        llmenv=__version__,
        ranks=ladder.course.worlds,
        whole=not request.only,
        unproven=_unproven(scene),
    )
    return replace(report, results=compare(report, tools.earlier(None, "")))


def conclude(report: Report, subject: Subject, tools: VerifyTools) -> tuple[Notice, ...]:
    """Put a report on record and let the environment say what it came to, where it went as far as is asked of it.

    A run below the level that is asked of the environment marks nothing: a preflight may fail for want of a pass on
    this machine, where another has proved the same.
    """
    notices = tools.keep(report)
    if not report.whole or report.level < subject.level:
        return notices
    good = proves(report)
    mark = tools.mark(subject.prefix, *((Phase.VERIFIED, "") if good else (Phase.CREATED, sentence(report))))
    return (*notices, *mark)


def _unproven(scene: Scene) -> str:
    if not scene.has_python:
        return outcome.NO_PYTHON
    if scene.cuda_tier and not scene.has_gpu:
        return f"tier {scene.tier} is about a GPU and this machine has none; run `llmenv verify` where one is"
    return ""


class _Ladder:
    """One run: what has been seen so far, and what each check came to."""

    def __init__(self, request: VerifyRequest, tools: VerifyTools) -> None:
        self._tools = tools
        self._checks = _checks(request)
        self._results: dict[str, CheckResult] = {}
        self._charged: set[str] = set()
        self.scene = _scene(request.subject, tools)
        self.course = _course(request, tools, self.scene.host)

    def climb(self) -> tuple[CheckResult, ...]:
        """Return every result, in the order of the ladder."""
        self._tools.watcher.begin(self._checks)
        for probe, checks in stages(self._checks).items():
            self._stage(probe, checks)
        return tuple(self._results[check.id] for check in self._checks)

    def _stage(self, probe: str, checks: Sequence[Check]) -> None:
        """Look for the checks of one probe that have no excuse, then judge all of them."""
        tried = tuple(check for check in checks if outcome.excuse(check, self.scene, self._results) is None)
        ended: list[tuple[ProbeRun, ProbeEnd]] = []
        if tried and probe:
            self._tools.watcher.stage(tried)
            ended = self._look(runs_of(probe, tried, self.scene, self.course))
        for check in checks:
            excuse = outcome.excuse(check, self.scene, self._results)
            self._conclude(check, excuse or outcome.judged(check, self.scene, ended))

    def _look(self, runs: Sequence[ProbeRun]) -> list[tuple[ProbeRun, ProbeEnd]]:
        prefix = Path(self.scene.prefix)
        side_by_side = AT_ONCE if all(run.probe == "imports" for run in runs) else 1
        with ThreadPoolExecutor(max_workers=side_by_side, thread_name_prefix="probe") as pool:
            ends = list(pool.map(lambda run: self._tools.probe(prefix, run), runs))
        ended = [_as_seen(run, end, self.course) for run, end in zip(runs, ends, strict=True)]
        for _run, end in ended:
            self._see(end.observations)
        return ended

    def _see(self, observations: Sequence[Observation]) -> None:
        seen = dict(self.scene.seen)
        for one in observations:
            seen[one.check] = (*seen.get(one.check, ()), one)
        self.scene = replace(self.scene, seen=seen)

    def _conclude(self, check: Check, finding: Finding) -> None:
        if not finding.fix and finding.status not in {Status.PASS, Status.SKIP}:
            finding = replace(finding, fix=check.fix)
        finding = replace(finding, fix=finding.fix.replace("{prefix}", shlex.quote(self.scene.prefix)))
        seconds = 0.0 if finding.status is Status.SKIP else self._seconds(check.observed)
        result = CheckResult(check.id, check.group, check.title, check.level, finding, round(seconds, 3))
        self._results[check.id] = result
        self._tools.watcher.result(result)

    def _seconds(self, observed: str) -> float:
        """Return how long looking took, the slowest rank's; the first of several checks that read it is charged."""
        if observed in self._charged:
            return 0.0
        self._charged.add(observed)
        return max((one.seconds for one in self.scene.seen.get(observed, ())), default=0.0)


def _checks(request: VerifyRequest) -> tuple[Check, ...]:
    chosen = selected(request.level, request.only)
    unknown = sorted({*request.only} - {check.id for check in chosen})
    if unknown:
        raise InputError(f"there is no check {unknown[0]!r}", hint="`llmenv verify --list` names them")
    return with_needed(chosen)


def _scene(subject: Subject, tools: VerifyTools) -> Scene:
    """Return what is known before any probe has looked."""
    activation = Observation("activation", {"problems": list(tools.activation_problems), **tools.in_force})
    return Scene(
        prefix=str(subject.prefix),
        host=tools.host(),
        tables=tools.tables(),
        tier=subject.tier,
        tier_layer=tools.tier(subject.tier) if subject.cuda_tier and subject.tier else None,
        cuda_tier=subject.cuda_tier,
        has_python=tools.has_python(subject.prefix),
        settings=subject.settings,
        variables=subject.variables,
        environ=tools.environ,
        seen={activation.check: (activation,)},
    )


def _course(request: VerifyRequest, tools: VerifyTools, host: HostFacts) -> Course:
    subject = request.subject
    return Course(
        level=request.level,
        worlds=_worlds(request, host),
        folder=tools.folder,
        root=tools.root,
        modules=subject.modules,
        packages=subject.packages,
        workers=int(subject.settings.get("workers") or DATA_WORKERS),
    )


def _worlds(request: VerifyRequest, host: HostFacts) -> tuple[int, ...]:
    if request.ranks is not None:
        return (request.ranks,)
    wanted = request.subject.settings.get("ranks")
    if isinstance(wanted, int) and wanted > 0:
        return (wanted,)
    return (len(host.gpus),) if host.gpus else CPU_WORLDS


def _as_seen(run: ProbeRun, end: ProbeEnd, course: Course) -> tuple[ProbeRun, ProbeEnd]:
    """Return an import's end as an observation, whatever way it took: a crash or a hang is an answer too."""
    if run.probe != "imports":
        return run, end
    observation = import_observation(run, end, promised=run.asked["module"] in course.modules)
    return run, replace(end, observations=(observation,), at_work=())
