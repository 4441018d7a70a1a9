"""One solve with the solver that conda is configured to use, of an empty prefix and nothing but the request."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conda.base.constants import REPODATA_FN, ChannelPriority, DepsModifier, UpdateModifier
from conda.base.context import context
from conda.models.match_spec import MatchSpec
from conda.models.records import PackageRecord
from msgspec import Struct, structs

from conda_llmenv.engines.conda import convert, repodata
from conda_llmenv.engines.conda.compat import solver_backend
from conda_llmenv.engines.conda.interruption import connections_ended_by_signals
from conda_llmenv.engines.conda.settings import initialise, scoped
from conda_llmenv.engines.conda.silence import silenced
from conda_llmenv.engines.conda.solve_errors import solve_errors
from conda_llmenv.engines.credentials import Credentials
from conda_llmenv.engines.leaving import leave_in_order
from conda_llmenv.errors import InputError, Unsatisfiable
from conda_llmenv.model import Record, SolveRequest, VirtualPackage
from conda_llmenv.ports import Reporter
from conda_llmenv.redact import strip

PRIORITIES = {kind.name.lower(): kind for kind in ChannelPriority}
"""The words for channel priority."""


class Question(Struct, frozen=True):
    """A request's specs as conda's.

    Attributes:
        specs: what is asked for.
        pins: package → what holds for it if it is there at all.
        limits: what the specs leave out of channels.
    """

    specs: tuple[Any, ...]
    pins: Mapping[str, Any]
    limits: repodata.Limits


def solve(request: SolveRequest, reporter: Reporter) -> tuple[Record, ...]:
    """Return the chosen records, sorted by name, with addresses that can be fetched."""
    credentials = Credentials.of(channel.url for channel in request.channels)
    with (
        tempfile.TemporaryDirectory(prefix="llmenv-conda-") as name,
        silenced(lambda text: reporter.line("solve", text)),
        connections_ended_by_signals(),
    ):
        folder = Path(name)
        question = _question(request)
        with scoped(_settings(request, folder), credentials, request.virtual_packages):
            if request.offline:
                repodata.check_cached(request)
            with repodata.sources(request, question.limits, folder) as sources:
                records = _preferring_locked(request, question, sources, folder / "prefix")
    return tuple(credentials.restored(record) for record in records)


def _question(request: SolveRequest) -> Question:
    asked = [convert.to_asked(text, request.channels) for text in request.specs]
    pins = [convert.to_asked(text, request.channels) for text in request.constraints]
    only: dict[str, frozenset[int]] = {}
    for one in (*asked, *pins):
        if one.channels is not None:
            only[one.spec.name] = only.get(one.spec.name, one.channels) & one.channels
    newest = convert.cutoff_milliseconds(request.exclude_newer) if request.exclude_newer is not None else None
    return Question(tuple(one.spec for one in asked), _merged(one.spec for one in pins), repodata.Limits(newest, only))


def _merged(specs: Iterable[Any]) -> dict[str, Any]:
    """Return one spec a package: conda heeds a single pin of each."""
    return {spec.name: spec for spec in MatchSpec.merge(specs)}


def _settings(request: SolveRequest, folder: Path) -> dict[str, Any]:
    """Return the settings of conda under which nothing but the request counts."""
    if request.channel_priority not in PRIORITIES:
        raise InputError(
            f"channel priority {request.channel_priority!r} is unknown", hint=f"use one of {', '.join(PRIORITIES)}"
        )
    initialise()
    changes = {
        "_channels": tuple(strip(channel.url) for channel in request.channels),
        "channel_priority": PRIORITIES[request.channel_priority],
        "_subdir": next((subdir for subdir in request.subdirs if subdir != "noarch"), ""),
        "_subdirs": request.subdirs,
        "offline": request.offline,
        "use_index_cache": False,
        "use_local": False,
        "repodata_use_shards": False,
        "repodata_fns": (REPODATA_FN,),
        "add_pip_as_python_dependency": False,
        "_aggressive_update_packages": (),
        "auto_update_conda": False,
        "ignore_pinned": False,
        "track_features": (),
        "deps_modifier": DepsModifier.NOT_SET,
        "update_modifier": UpdateModifier.UPDATE_SPECS,
        "force_remove": False,
        "force_reinstall": False,
    }
    if request.exclude_newer is not None:
        changes |= {"exclude_newer": "", "exclude_newer_package": {}}
    if request.offline:
        changes["_pkgs_dirs"] = (repodata.offline_cache(folder),)
    return changes


def _preferring_locked(
    request: SolveRequest, question: Question, sources: repodata.Sources, prefix: Path
) -> tuple[Record, ...]:
    """Solve with as many of the locked records as fit; those that a conflict names are given up first."""
    kept = tuple(one for one in request.locked if one.name not in question.pins and _is_taken(one, question.specs))
    locked = {one.name: MatchSpec(name=one.name, version=one.version, build=one.build) for one in kept}
    try:
        with solve_errors(request):
            packages = _chosen(request, question, {**question.pins, **locked}, sources, prefix)
            _check_bounds(packages, question.pins, request.virtual_packages)
            return sources.records(packages)
    except Unsatisfiable as error:
        if not kept:
            raise
        involved = locked.keys() & set(error.packages)
        fewer = tuple(record for record in kept if involved and record.name not in involved)
    return _preferring_locked(structs.replace(request, locked=fewer), question, sources, prefix)


def _is_taken(record: Record, specs: Iterable[Any]) -> bool:
    """Return whether the specs take a locked record; for one that they do not, conda would refuse all pins."""
    package = convert.to_package(record)
    return all(spec.match(package) for spec in specs if spec.name == record.name)


def _check_bounds(packages: Iterable[Any], pins: Mapping[str, Any], offered: Iterable[VirtualPackage]) -> None:
    """Refuse a choice that breaks a bound which not every solver heeds.

    The classic one gives up pins for specs, and passes over what a package says about virtual ones without needing
    them; libmamba's plugin does not hold on to virtual packages, so that a bound against one takes it away.

    Raises:
        Unsatisfiable: a bound on a package, or on what the machine offers, does not hold.
    """
    machine = {one.name: PackageRecord.virtual_package(one.name, one.version, one.build) for one in offered}
    real = [package for package in packages if not package.name.startswith("__")]
    bounds = [(package, MatchSpec(text)) for package in real for text in package.constrains if text.startswith("__")]
    broken = [
        (package, spec) for package, spec in bounds if spec.name in machine and not spec.match(machine[spec.name])
    ]
    pinned = [(package, pins[package.name]) for package in real if package.name in pins]
    broken += [(package, spec) for package, spec in pinned if not spec.match(package)]
    if broken:
        raise Unsatisfiable(
            f"conda's solver {context.solver} chose what does not fit here",
            packages=dict.fromkeys(name for package, spec in broken for name in (package.name, spec.name)),
            details=[f"{package.name} {package.version} {package.build} against {spec}" for package, spec in broken],
            hint="another solver may find what fits: `solver: rattler` in .condarc, or --engine rattler",
        )


def _chosen(
    request: SolveRequest, question: Question, pins: Mapping[str, Any], sources: repodata.Sources, prefix: Path
) -> tuple[Any, ...]:
    """Ask conda's solver, as ``conda create`` does, plugins that look at solves included."""
    leave_in_order()
    vars(context)["pinned_packages"] = tuple(str(pin) for pin in pins.values())
    solver = solver_backend()(
        str(prefix),
        sources.channels(),
        subdirs=request.subdirs,
        specs_to_add=question.specs,
        repodata_fn=REPODATA_FN,
        command="create",
    )
    transaction = solver.solve_for_transaction()
    return tuple(transaction.prefix_setups[str(prefix)].link_precs)
