"""Create an environment: plan, link conda packages while pip resolves and fetches, then pip, then record and prove."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from conda_llmenv import __version__
from conda_llmenv.checks.verdict import passed, sentence
from conda_llmenv.compose import to_json
from conda_llmenv.compose.input_hash import input_hash
from conda_llmenv.errors import CheckFailed, InstallFailed, PipFailed
from conda_llmenv.model import EnvState, InstallRequest, Notice, Phase, PipRequest, PipResult, Record, Report, Status
from conda_llmenv.pipeline.plan import Plan, PlanRequest, make_plan, pip_request, plan_pip
from conda_llmenv.pipeline.tools import Tools
from conda_llmenv.pipeline.verify_tools import Subject, VerifyRequest
from conda_llmenv.ports import Transaction
from conda_llmenv.redact import mask, strip

ALWAYS_SET = {"PYTHONNOUSERSITE": "1"}
"""conda's Python reads ``~/.local``, a venv's does not: a package there must never shadow one of the environment."""


SHOWN = 10
"""Altered files that are named of each distribution."""

ELSEWHERE = frozenset({"host", "data"})
"""Groups of checks that are about the machine: no other environment would do better on it."""


class CreateRequest(Struct, frozen=True):
    """What to create, where, and how far to go.

    Attributes:
        plan: what was asked for.
        prefix: absolute path of the environment.
        replace: an existing environment there may be replaced.
        keep: leave a failed new environment for inspection.
        verify: go up the validation ladder once everything is installed, as far as the recipe says.
        command: the command line to note in conda's history, without secrets.
    """

    plan: PlanRequest
    prefix: Path
    replace: bool = False
    keep: bool = False
    verify: bool = True
    command: str = "llmenv create"


class Created(Struct, frozen=True):
    """What was made, what checking it came to (None if it was not checked), and seconds per stage."""

    prefix: Path
    plan: Plan
    pip: PipResult | None
    report: Report | None
    seconds: Mapping[str, float]
    notices: tuple[Notice, ...] = ()

    @property
    def works(self) -> bool:
        """Whether nothing that was checked failed."""
        return self.report is None or passed(self.report)


def plan_creation(request: PlanRequest, tools: Tools) -> Plan:
    """Plan everything, the pip section too, and change nothing (``--dry-run``)."""
    return with_pip(make_plan(request, tools), request, tools)


def with_pip(plan: Plan, request: PlanRequest, tools: Tools) -> Plan:
    """Resolve the pip section of a plan, if it has one."""
    if not plan.spec.pip:
        return plan
    return plan_pip(plan, pip_request(plan, tools, request), tools)


def create(request: CreateRequest, plan: Plan, tools: Tools) -> Created:
    """Make the environment of ``plan`` at its prefix, all of it or nothing of it.

    Raises:
        PrefixError, LockBusy: the prefix cannot be used.
        InstallFailed, PipFailed, PlanRefused: a step failed; what was there before is there again.
        CheckFailed: what was to take an environment's place does not work; the old one stays.
    """
    clock = _Clock()
    wanted = pip_request(plan, tools, request.plan) if plan.spec.pip else None
    variables = _variables(plan)
    with tools.begin(request.prefix, replace=request.replace, keep=request.keep) as transaction:
        transaction.set_variables(variables)
        plan = _install_conda(request, plan, wanted, transaction, tools)
        clock.stamp("conda")
        result = None
        if wanted is not None and plan.pip is not None:
            result = tools.pip().install(plan.pip, wanted, transaction.prefix, tools.reporter)
            if plan.locked:
                _refuse_altered(result, transaction.prefix, tools)
            clock.stamp("pip")
        report = _proved(request, plan, variables, tools) if request.verify and transaction.replaces else None
        notices = transaction.commit(
            spec=spec_json(request, plan, result, variables),
            state=_state(plan, result),
            variables=variables,
            history_specs=asked_specs(plan),
            command=mask(request.command),
        )
    # A new environment exists from here on, and stays for inspection whatever checking it comes to.
    if request.verify and report is None:
        report = _verified(request, plan, variables, tools)
    if report is not None:
        clock.stamp("verify")
        subject = subject_of(request.prefix, plan, variables)
        notices = (*notices, *_concluded(report, subject, tools))
    return Created(request.prefix, plan, result, report, clock.seconds, notices)


def _verified(request: CreateRequest, plan: Plan, variables: Mapping[str, str | None], tools: Tools) -> Report:
    from conda_llmenv.pipeline.verify import verify  # the whole ladder, which a plan does without

    subject = subject_of(request.prefix, plan, variables)
    return verify(VerifyRequest(subject, subject.level), tools.verify(request.prefix))


def _concluded(report: Report, subject: Subject, tools: Tools) -> tuple[Notice, ...]:
    from conda_llmenv.pipeline.verify import conclude

    return conclude(report, subject, tools.verify(subject.prefix))


def _proved(request: CreateRequest, plan: Plan, variables: Mapping[str, str | None], tools: Tools) -> Report:
    """Check what is to take another environment's place.

    Raises:
        CheckFailed: it does not work, and that is not the machine's fault.
    """
    report = _verified(request, plan, variables, tools)
    broken = [result for result in report.by_status(Status.FAIL, Status.ERROR) if result.group not in ELSEWHERE]
    if broken:
        raise CheckFailed(
            f"the new environment does not work: {sentence(report)}",
            details=[f"{result.id}: {result.finding.summary}" for result in broken],
            hint="--no-verify skips the checks; in a new folder (-p) the environment stays for inspection",
        )
    return report


def subject_of(prefix: Path, plan: Plan, variables: Mapping[str, str | None]) -> Subject:
    """Return what the environment of a plan is for."""
    spec = plan.spec
    conda = (merged.name for merged in spec.specs)
    pip = (requirement.name for requirement in spec.pip.requirements if requirement.name)
    return Subject(
        prefix=prefix,
        tier=spec.tier.name if spec.tier else None,
        recipe=spec.recipe.name if spec.recipe else None,
        cuda_tier=any(name == "__cuda" and sourced.value for name, sourced in spec.virtual_packages),
        settings=spec.verify,
        packages=tuple(dict.fromkeys((*conda, *pip))),
        variables=_set(variables),
    )


def _set(variables: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if value is not None}


def _refuse_altered(result: PipResult, prefix: Path, tools: Tools) -> None:
    """Refuse distributions that are not what their wheels say: an installer's cache may have been altered since.

    Raises:
        PipFailed: there are some; each of their files is named.
    """
    altered = tools.find_altered(prefix, [package.name for package in result.packages])
    if altered:
        names = " ".join(sorted(altered))
        clean = " && ".join(f"pip cache remove {name}" for name in sorted(altered))
        clean = clean if result.installer == "pip" else f"uv cache clean {names}"
        raise PipFailed(
            f"{names}: not as the wheel lists it, so the lock is not what would be installed; the cache of "
            f"{result.installer} was altered, perhaps through an environment that shares its files",
            details=[f"{name}: {path}" for name in sorted(altered) for path in altered[name][:SHOWN]],
            hint=f"take it out of the cache with `{clean}` and create again; if that changes nothing, the wheel lists "
            "wrong hashes itself, which its makers should know",
        )


def _variables(plan: Plan) -> dict[str, str | None]:
    """Return what activation sets; a lock says all of it, so that what is made from it is what it was made of."""
    always: dict[str, str | None] = dict.fromkeys(ALWAYS_SET) if plan.locked else {**ALWAYS_SET}
    return {**always, **{variable.name: variable.value for variable in plan.spec.variables}}


def asked_specs(plan: Plan) -> tuple[str, ...]:
    """Return the conda specs a person asked for, which a lock's pins are not."""
    return tuple(text for merged in plan.spec.specs for text in merged.texts)


def _install_conda(
    request: CreateRequest, plan: Plan, wanted: PipRequest | None, transaction: Transaction, tools: Tools
) -> Plan:
    """Link the conda packages while the pip section is resolved and its files are fetched beside it."""
    install = InstallRequest(
        records=plan.solution.records,
        prefix=transaction.prefix,
        package_cache=tools.caches.packages,
        requested=asked_specs(plan),
        subdir=plan.draft.facts.subdir,
        offline=request.plan.offline,
        given_up=lambda: beside is not None and beside.done() and beside.exception() is not None,
    )
    linked = threading.Event()
    beside: Future[Plan] | None = None
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="pip") as pool:
        if wanted is not None:
            beside = pool.submit(_prepare_pip, plan, wanted, tools, linked)
        try:
            tools.engine().install(install, tools.reporter)
        except InstallFailed:
            if install.given_up is not None and install.given_up() and beside is not None:
                return beside.result()  # raises what went wrong beside, which is the reason
            tools.stop()
            raise
        except BaseException:
            tools.stop()  # leaving the pool waits for its thread, and that one waits for a program
            raise
        finally:
            linked.set()
        return beside.result() if beside is not None else plan


def _prepare_pip(plan: Plan, wanted: PipRequest, tools: Tools, linked: threading.Event) -> Plan:
    """Resolve the pip section and fetch its files, unless linking is over first and installing may begin."""
    if plan.pip is None:
        plan = plan_pip(plan, wanted, tools)
    if plan.pip is not None and not linked.is_set():
        tools.pip().prefetch(plan.pip, wanted, tools.reporter)
    return plan


def _state(plan: Plan, result: PipResult | None) -> EnvState:
    spec = plan.spec
    return EnvState(
        phase=Phase.CREATED,
        created=dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
        tier=spec.tier.name if spec.tier else None,
        recipe=spec.recipe.name if spec.recipe else None,
        llmenv=__version__,
        facts={
            "engine": plan.solution.engine,
            "conda_packages": len(plan.solution.records),
            "pip_packages": len(result.packages) if result else 0,
            "host": to_builtins(plan.draft.facts),
        },
    )


def spec_json(
    request: CreateRequest, plan: Plan, result: PipResult | None, variables: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return what was asked for and what was chosen, free of secrets, as ``conda-meta/llmenv/spec.json`` keeps it."""
    packages = result.packages if result else ()
    return {
        "asked": to_json(plan.spec),
        "input_hash": plan.input_hash or input_hash(plan.spec),
        "command": mask(request.command),
        "channels": [strip(channel.url) for channel in plan.draft.channels],
        "virtual_packages": {virtual.name: virtual.version for virtual in plan.draft.virtual},
        "variables": {name: value for name, value in variables.items() if value is not None},
        "conda": [_record_json(record) for record in plan.solution.records],
        "pip": [to_builtins(replace(package, requirement=strip(package.requirement))) for package in packages],
    }


def _record_json(record: Record) -> dict[str, Any]:
    return {
        "name": record.name,
        "version": record.version,
        "build": record.build,
        "subdir": record.subdir,
        "url": strip(record.url),
        "sha256": record.sha256,
        "md5": record.md5,
    }


class _Clock:
    """Seconds per stage, in the order the stages ended."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self.seconds: dict[str, float] = {}

    def stamp(self, stage: str) -> None:
        """Note the seconds since the stage before ended."""
        now = time.monotonic()
        self.seconds[stage] = round(now - self._last, 3)
        self._last = now
