"""An environment from a lock: nothing is chosen, everything is checked, and what is not what it says is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.compose import ComposeRequest, compose, merge
from conda_llmenv.engines.rattler.matching import Installed
from conda_llmenv.errors import InputError, NotFoundError
from conda_llmenv.hardware import check_after
from conda_llmenv.locks.as_layer import as_layer
from conda_llmenv.locks.dependencies import spec_name
from conda_llmenv.locks.exact import without_sha256
from conda_llmenv.locks.facts import TIER
from conda_llmenv.locks.pip_fit import pip_unmet
from conda_llmenv.locks.pip_plan import locked_plan
from conda_llmenv.model import (
    Channel,
    EnvSpec,
    Lock,
    LockedPlatform,
    Notice,
    Origin,
    Record,
    Solution,
)
from conda_llmenv.pipeline.plan import Draft, Plan, PlanRequest, judged, make_solution, refuse_failed
from conda_llmenv.pipeline.tools import Tools
from conda_llmenv.redact import mask

EXACT = "a lock: nothing was solved"
"""What the plan says of the engine's part."""


class LockedRequest(Struct, frozen=True):
    """Which lock to make an environment from.

    Attributes:
        lock: as it was read.
        display: its path as shown in messages.
        exact: it has an address and a hash for each package; otherwise its versions are solved for.
        require_hashes: refuse what has no sha256.
        offline: use caches only.
    """

    lock: Lock
    display: str
    exact: bool = True
    require_hashes: bool = False
    offline: bool = False


def plan_from_lock(request: LockedRequest, tools: Tools) -> Plan:
    """Return the plan a lock stands for on this machine; changes nothing.

    Raises:
        InputError: the lock is not for this platform or empty, or holds what has no hash at all, or not the one that
            is required.
        PlanRefused: what is locked cannot run on this card, driver or system.
    """
    subdir = tools.host().subdir
    platform = request.lock.platform(subdir)
    if platform is None:
        there = ", ".join(one.subdir for one in request.lock.platforms) or "none"
        raise InputError(
            f"{request.display} has nothing for {subdir}, only for {there}",
            hint=f"lock again with `llmenv lock --platform {subdir}`",
        )
    if not (platform.records or platform.pip):
        raise InputError(
            f"{request.display} has no packages for {subdir}, so there is nothing to make",
            hint="lock again with `llmenv lock`",
            origins=[Origin(request.display)],
        )
    if request.require_hashes:
        _refuse_unhashed(request, platform)
    spec = _spec(request, platform, tools)
    wanted = PlanRequest(ComposeRequest(), offline=request.offline)
    drafted = judged(wanted, spec, None, tools)
    if not request.exact:
        pins = tuple(f"{record.name}={record.version}" for record in platform.records)
        pinned = replace(drafted, solve=replace(drafted.solve, specs=pins))
        return replace(make_solution(pinned, tools), input_hash=request.lock.input_hash, locked=True)
    _refuse_unverifiable(request, platform)
    _refuse_incomplete(request, platform, drafted)
    solution = Solution(tuple(_reachable(platform.records, request.lock.channels, tools)), "lock", 0.0)
    verdicts = (
        *drafted.verdicts,
        *check_after(spec, solution, drafted.facts, drafted.virtual, tables=tools.tables()),
    )
    refuse_failed(replace(drafted, verdicts=verdicts), tools)
    return Plan(
        replace(drafted, notices=(*drafted.notices, *_unmet_notices(request, platform))),
        solution,
        verdicts,
        pip=locked_plan(platform),
        engine_reason=EXACT,
        input_hash=request.lock.input_hash,
        locked=True,
    )


def _reachable(records: Iterable[Record], channels: Iterable[Channel], tools: Tools) -> Iterator[Record]:
    """Yield the records with the addresses of this site: its mirror of a channel, and its credentials for it.

    A lock is made where channels may lie elsewhere, and holds no credentials; its hashes make the content the same.
    """
    here = {channel.url: _address(channel, tools) for channel in channels}
    for record in records:
        base = here.get(record.channel)
        if base is None or not record.url.startswith(f"{record.channel}/"):
            yield record
        else:
            yield replace(record, url=base + record.url[len(record.channel) :], channel=base)


def _address(channel: Channel, tools: Tools) -> str:
    """Return where a channel of a lock lies for this person."""
    nodefaults = True
    found = tools.resolve_channels((channel.name,), nodefaults)
    return found[0].url if len(found) == 1 else channel.url


def _spec(request: LockedRequest, platform: LockedPlatform, tools: Tools) -> EnvSpec:
    """Return what the lock asks for, with the tier it was made for, if that is known here."""
    layer = as_layer(request.lock, platform, request.display, pinned=not request.lock.specs)
    spec = merge((layer,))
    tier = request.lock.facts.get(TIER)
    if not tier:
        return spec
    try:
        known = compose(ComposeRequest(tier=tier), tools.library)
    except NotFoundError:
        return spec
    return replace(spec, tier=known.tier, driver=known.driver, virtual_packages=known.virtual_packages)


def _refuse_unhashed(request: LockedRequest, platform: LockedPlatform) -> None:
    bare = without_sha256(platform)
    if bare:
        raise InputError(
            f"{len(bare)} packages of {request.display} have no sha256, and hashes are required",
            details=[_place(request, name) for name in bare],
            hint="lock into a format with hashes (`llmenv lock --format pixi`), or leave out --require-hashes",
            origins=[Origin(request.display, request.lock.lines.get(name)) for name in bare],
        )


def _refuse_unverifiable(request: LockedRequest, platform: LockedPlatform) -> None:
    """Refuse conda packages without any hash: what is downloaded for them could be anything, so no engine takes it."""
    bare = [record.name for record in platform.records if not (record.sha256 or record.md5)]
    if bare:
        raise InputError(
            f"{len(bare)} packages of {request.display} have no hash, so nobody could tell what is installed",
            details=[_place(request, name) for name in bare],
            hint="lock again with `llmenv lock`; conda writes hashes with `conda list --explicit --md5`",
            origins=[Origin(request.display, request.lock.lines.get(name)) for name in bare],
        )


def _refuse_incomplete(request: LockedRequest, platform: LockedPlatform, drafted: Draft) -> None:
    """Refuse a lock whose packages do not belong together: something was added, dropped or exchanged by hand."""
    found = tuple(_inconsistencies(request, platform, drafted))
    if found:
        raise InputError(
            f"{request.display} does not hold together: {len(found)} of its packages do not fit the others",
            details=found,
            hint="lock again with `llmenv lock`, and let no hand edit the result",
        )


def _unmet_notices(request: LockedRequest, platform: LockedPlatform) -> Iterator[Notice]:
    """Yield a warning for each need of a distribution that nothing in the lock meets; its program may do without."""
    for package, text in pip_unmet(platform):
        origin = Origin(request.display, request.lock.lines.get(package.name))
        yield Notice(
            "locked-need-unmet",
            f"{package.name} ({origin.where}) needs {mask(text)}, which the lock has neither from pip nor from conda",
            (origin,),
            hint="lock again with `llmenv lock`, and let no hand edit the result",
        )


def _inconsistencies(request: LockedRequest, platform: LockedPlatform, drafted: Draft) -> Iterator[str]:
    installed = Installed(platform.records, drafted.virtual)
    for record, text in installed.unmet():
        yield f"{_place(request, record.name)} needs {text}" + _machine(text)
    for record, text in installed.contradicted():
        yield f"{_place(request, record.name)} does not go with what is there: {text}"
    if not request.lock.specs or not any(record.depends for record in platform.records):
        return  # nobody said what was asked for, or what needs what
    for name in _unneeded(request.lock, platform):
        yield f"{_place(request, name)} is asked for by nobody and needed by nothing"


def _unneeded(lock: Lock, platform: LockedPlatform) -> Iterator[str]:
    needed = set(map(spec_name, lock.specs))
    needed |= {spec_name(text) for record in platform.records for text in record.depends}
    yield from (record.name for record in platform.records if record.name not in needed)


def _machine(text: str) -> str:
    return ", which this machine does not offer" if text.startswith("__") else ", which the lock does not have"


def _place(request: LockedRequest, name: str) -> str:
    line = request.lock.lines.get(name)
    return f"{request.display}:{line}   {name}" if line else name
