"""Lock: plan for every platform and write down what was chosen; install nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.compose.input_hash import input_hash
from conda_llmenv.engines.rattler.matching import Installed
from conda_llmenv.errors import InputError, LlmenvError
from conda_llmenv.locks.facts import IMPORTS, TIER, stated, versions
from conda_llmenv.locks.fit import changes
from conda_llmenv.locks.options import portable
from conda_llmenv.locks.pip_fit import pip_misfits
from conda_llmenv.model import Channel, Lock, LockedPlatform, PipPackage, PipPlan, Record
from conda_llmenv.names import check_platform
from conda_llmenv.pipeline.create import ALWAYS_SET, with_pip
from conda_llmenv.pipeline.plan import Draft, Plan, PlanRequest, draft, make_plan, with_tier
from conda_llmenv.pipeline.tools import Tools
from conda_llmenv.pipeline.verify_tools import promised_modules
from conda_llmenv.redact import strip


class LockRequest(Struct, frozen=True):
    """What to lock, and what of an earlier lock to keep.

    Attributes:
        plan: what was asked for.
        platforms: conda subdirs; empty for this machine's.
        previous: the lock to start from, or None to choose everything anew.
        update: packages that may move although ``previous`` has them; what they need moves with them, nothing else.
    """

    plan: PlanRequest
    platforms: tuple[str, ...] = ()
    previous: Lock | None = None
    update: tuple[str, ...] = ()


class Locked(Struct, frozen=True):
    """A lock and the plans it was made from, one a platform."""

    lock: Lock
    plans: tuple[Plan, ...]


def make_lock(request: LockRequest, tools: Tools) -> Locked:
    """Plan for each platform and return the lock.

    Raises:
        InputError: a package to update is not in the lock, or a platform is none or is asked for twice.
        ConflictError, PlanRefused, Unsatisfiable, PipFailed: as planning an environment does.
    """
    platforms = request.platforms or (tools.host().subdir,)
    for platform in request.platforms:
        check_platform(platform)
    if len(set(platforms)) < len(platforms):
        raise InputError(f"a platform is asked for twice: {', '.join(platforms)}")
    _check_update(request)
    layers, _tier = with_tier(request.plan.compose, tools)
    settled = replace(request.plan, compose=layers)
    plans = tuple(_plan(settled, platform, request, tools) for platform in platforms)
    return Locked(_lock(plans), plans)


def misfits(lock: Lock, request: PlanRequest, tools: Tools) -> tuple[str, ...]:
    """Return, in sentences, why a lock is not what the layers ask for now; empty where it still fits.

    No channel and no index is asked: newer versions are no reason to lock again.
    """
    layers, _tier = with_tier(request.compose, tools)
    found: list[str] = []
    for platform in lock.platforms:
        wanted = draft(replace(request, compose=layers, subdir=platform.subdir), tools)
        found += changes(wanted.spec, lock)
        found += (f"{platform.subdir}: {text}" for text in _platform_misfits(wanted, platform))
    return tuple(dict.fromkeys(found))


def _platform_misfits(wanted: Draft, platform: LockedPlatform) -> Iterator[str]:
    yield from pip_misfits(wanted.spec.pip.requirements, platform)
    if not all(record.build for record in platform.records):
        return  # names and versions only: a solver decides about the rest
    installed = Installed(platform.records, wanted.virtual)
    for merged in wanted.spec.specs:
        for text in installed.missing(merged.texts):
            places = ", ".join(dict.fromkeys(part.origin.where for part in merged.parts))
            yield f"{text} ({places}) is not what is locked: {platform.record(merged.name) or 'nothing'}"
    yield from (f"{record} needs {text}, which is not there" for record, text in installed.unmet())
    yield from (f"{record} does not go with what is there: {text}" for record, text in installed.contradicted())


def _check_update(request: LockRequest) -> None:
    if not request.update:
        return
    previous = request.previous
    if previous is None:
        raise InputError("there is no lock to update", hint="make one first, with `llmenv lock` and no --update")
    known = {record.name for platform in previous.platforms for record in platform.records}
    known |= {package.name for platform in previous.platforms for package in platform.pip}
    strange = [name for name in request.update if name not in known]
    if strange:
        raise InputError(
            f"not in the lock: {', '.join(strange)}", hint="`llmenv diff` and the lock itself list what is"
        )


def _plan(request: PlanRequest, platform: str, asked: LockRequest, tools: Tools) -> Plan:
    before = asked.previous.platform(platform) if asked.previous is not None else None
    if before is not None:
        records, pip = _kept(before.records, asked.update), _kept(before.pip, asked.update)
        request = replace(request, locked=records, pip_locked=pip)
    try:
        return with_pip(make_plan(replace(request, subdir=platform), tools), request, tools)
    except LlmenvError as error:
        if len(asked.platforms) > 1:
            error.message = f"{platform}: {error.message}"
        raise


def _kept(packages: Iterable[Record | PipPackage], update: Sequence[str]) -> tuple[Record | PipPackage, ...]:
    return tuple(package for package in packages if package.name not in update)


def _lock(plans: Sequence[Plan]) -> Lock:
    first = plans[0]
    spec = first.spec
    return Lock(
        platforms=tuple(
            LockedPlatform(plan.draft.facts.subdir, tuple(map(_clean, plan.solution.records)), _pip(plan.pip))
            for plan in plans
        ),
        channels=tuple(Channel(strip(one.name), strip(one.url)) for one in first.draft.channels),
        nodefaults=spec.nodefaults is not None,
        specs=tuple(strip(text) for merged in spec.specs for text in merged.texts),
        pip_options=portable(option.text for option in spec.pip.options),
        variables={**ALWAYS_SET, **spec.variable_values},
        facts=_facts(first),
        input_hash=input_hash(spec),
    )


def _clean(record: Record) -> Record:
    return replace(record, url=strip(record.url), channel=strip(record.channel))


def _pip(plan: PipPlan | None) -> tuple[PipPackage, ...]:
    """Return the pinned distributions; what can be pinned only by building it stays as it was asked for."""
    if plan is None:
        return ()
    pinned = (replace(package, requirement=strip(package.requirement)) for package in plan.packages)
    late = (PipPackage(_name(line), None, strip(line), built=True, direct=True) for line in plan.late)
    return tuple(sorted((*pinned, *late), key=lambda package: package.name))


def _name(line: str) -> str:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        return canonicalize_name(Requirement(line).name)
    except InvalidRequirement:
        return line


def _facts(plan: Plan) -> dict[str, str]:
    draft, spec = plan.draft, plan.spec
    cuda = next((one.version for one in draft.virtual if one.name == "__cuda"), "")
    found = {
        TIER: spec.tier.name if spec.tier else "",
        "recipe": spec.recipe.name if spec.recipe else "",
        **versions(plan.solution.records),
        "driver": draft.facts.driver or (f"none here; planned for __cuda={cuda}" if cuda else ""),
        IMPORTS: " ".join(promised_modules(spec.verify)),
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
    }
    return stated(found)
