"""From what was asked to a judged plan: compose, choose the tier, check, solve, check again."""

from __future__ import annotations

import datetime as dt

from msgspec import Struct, structs

from conda_llmenv.compose import ComposeRequest, compose, names_workload, read_tiers
from conda_llmenv.errors import ChannelUnavailable, InputError, LlmenvError, PlanRefused, Unsatisfiable
from conda_llmenv.hardware import (
    EDITS,
    apply_changes,
    check_after,
    check_before,
    check_pip,
    choose_tier,
    explain_unsatisfiable,
    virtual_packages,
)
from conda_llmenv.model import (
    Channel,
    EnvSpec,
    HostFacts,
    Layer,
    Notice,
    PipPackage,
    PipPlan,
    PipRequest,
    Record,
    Solution,
    SolveRequest,
    Status,
    TierChoice,
    Verdict,
    VirtualPackage,
)
from conda_llmenv.pipeline.tools import Silent, Tools
from conda_llmenv.pypi.provided import kept, provided_distributions
from conda_llmenv.redact import mask

AUTO = "auto"

EXPLAINED_LINES = 24
"""Lines of a solver's explanation that are shown."""


class PlanRequest(Struct, frozen=True):
    """What a person asked for.

    Attributes:
        compose: the layers to stack; its ``tier`` may be ``auto``.
        channel_priority: overrides what the fragments say, or None.
        exclude_newer: ignore conda packages newer than this.
        offline: use caches only.
        subdir: plan for this platform, of which nothing is known but its name; None for this machine.
        locked: conda packages that stay as they are where they fit.
        pip_locked: distributions that stay as they are where they fit.
        require_hashes: install no distribution without a hash.
    """

    compose: ComposeRequest
    channel_priority: str | None = None
    exclude_newer: dt.datetime | None = None
    offline: bool = False
    subdir: str | None = None
    locked: tuple[Record, ...] = ()
    pip_locked: tuple[PipPackage, ...] = ()
    require_hashes: bool = False


class Draft(Struct, frozen=True):
    """A plan before solving: composed, with the machine it is for."""

    spec: EnvSpec
    facts: HostFacts
    tier: TierChoice | None
    virtual: tuple[VirtualPackage, ...]
    channels: tuple[Channel, ...]
    solve: SolveRequest
    verdicts: tuple[Verdict, ...] = ()
    notices: tuple[Notice, ...] = ()


class Plan(Struct, frozen=True):
    """A solved and judged plan.

    Attributes:
        draft: what was to be solved.
        solution: the conda packages.
        verdicts: what the checks say.
        pip: None until the pip section is resolved, or when there is none.
        engine_reason: why this engine solved it.
        input_hash: what the layers came to when a lock was made that this follows; empty for a plan of layers.
        locked: it follows a lock, which says everything; nothing is added to it.
    """

    draft: Draft
    solution: Solution
    verdicts: tuple[Verdict, ...] = ()
    pip: PipPlan | None = None
    engine_reason: str = ""
    input_hash: str = ""
    locked: bool = False

    @property
    def spec(self) -> EnvSpec:
        """The composed environment."""
        return self.draft.spec

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Everything noticed while composing and looking at the machine."""
        return self.draft.notices


def with_tier(request: ComposeRequest, tools: Tools) -> tuple[ComposeRequest, TierChoice | None]:
    """Settle the tier: the one asked for, the configured one, the one that fits this machine, or none.

    A recipe without ``--tier`` means ``auto``: a workload cannot be planned without knowing what it runs on.
    """
    default = tools.default_tier if request.tier is None else None
    wanted = default.value if default is not None else request.tier
    if wanted == AUTO or (wanted is None and names_workload(request, tools.library)):
        choice = choose_tier(tools.host(), read_tiers(tools.library), tables=tools.tables())
        return structs.replace(request, tier=choice.name), choice
    if wanted is None:
        return request, None
    facts = tools.host()
    reason = "asked for" if default is None else f"configured as llmenv_default_tier ({default.origin.where})"
    choice = TierChoice(wanted, reason, assumed=not facts.gpus, gpu_count=len(facts.gpus))
    return structs.replace(request, tier=wanted), choice


def draft(request: PlanRequest, tools: Tools) -> Draft:
    """Compose the layers and judge what can be judged without repodata.

    Raises:
        ConflictError, FileFormatError, NotFoundError: the layers cannot be composed.
        PlanRefused: a check of card, driver or CUDA failed.
    """
    layers, tier = with_tier(request.compose, tools)
    return judged(request, compose(layers, tools.library), tier, tools)


def judged(request: PlanRequest, spec: EnvSpec, tier: TierChoice | None, tools: Tools) -> Draft:
    """Judge a composed environment before it is solved.

    Raises:
        PlanRefused: a check of card, driver or CUDA failed.
    """
    facts = facts_of(request.subdir, tools)
    virtual, notices = virtual_packages(facts, spec, tools.environ, tools.tables())
    indexes = tools.indexes() if spec.pip else ()
    verdicts = check_before(spec, facts, virtual, configured_indexes=indexes, tables=tools.tables())
    channels = tools.resolve_channels(tuple(channel.name for channel in spec.channels), spec.nodefaults is not None)
    solve = SolveRequest(
        specs=tuple(text for merged in spec.specs for text in merged.texts),
        channels=channels,
        subdirs=(facts.subdir, "noarch"),
        virtual_packages=virtual,
        channel_priority=request.channel_priority or _priority(spec, tools),
        exclude_newer=request.exclude_newer,
        locked=request.locked,
        repodata_cache=tools.caches.repodata,
        offline=request.offline,
    )
    result = Draft(spec, facts, tier, virtual, channels, solve, verdicts, (*tools.warnings, *spec.notices, *notices))
    refuse_failed(result, tools)
    return result


def facts_of(subdir: str | None, tools: Tools) -> HostFacts:
    """Return what is known of the machine to plan for: this one, or one of another platform."""
    here = tools.host()
    return here if subdir in {None, here.subdir} else HostFacts(subdir=subdir or here.subdir, elsewhere=True)


def _priority(spec: EnvSpec, tools: Tools) -> str:
    """Return what a fragment above the base says, else the person's configuration, else the base."""
    said = any(
        fragment.channel_priority is not None and fragment.origin.layer is not Layer.BASE for fragment in spec.layers
    )
    return spec.channel_priority if said else tools.channel_priority or spec.channel_priority


def make_plan(request: PlanRequest, tools: Tools) -> Plan:
    """Draft, solve with the engine and judge what was chosen; links nothing.

    Raises:
        PlanRefused: the solution is not what was asked for (a CPU build for a GPU tier, say).
        Unsatisfiable: nothing fits; the lines that take part are named.
        ChannelUnavailable: a channel cannot be had; the lines that list it are named.
    """
    return make_solution(draft(request, tools), tools)


def make_solution(result: Draft, tools: Tools) -> Plan:
    """Solve a draft and judge what was chosen; raises as :func:`make_plan` does."""
    try:
        solution = tools.engine().solve(result.solve, tools.reporter)
    except Unsatisfiable as error:
        raise explained(error, result, tools) from error
    except ChannelUnavailable as error:
        raise located(error, result, tools) from error
    found = check_after(result.spec, solution, result.facts, result.virtual, tables=tools.tables())
    verdicts = (*result.verdicts, *found)
    refuse_failed(structs.replace(result, verdicts=verdicts), tools)
    return Plan(result, solution, verdicts, engine_reason=tools.engine_reason())


def pip_request(plan: Plan, tools: Tools, request: PlanRequest) -> PipRequest:
    """Return what the pip installer is asked, given what conda provides.

    Raises:
        InputError: there is a pip section, but no Python to install it for.
    """
    python = plan.solution.record("python")
    if python is None:
        origins = [part.origin for part in plan.spec.pip.requirements]
        raise InputError(
            "the pip section needs a Python, and none of the conda packages brings one",
            hint="add `python` to the dependencies",
            origins=origins,
        )
    provided, notices = kept(plan.spec.pip, provided_distributions(plan.solution.records))
    for notice in notices:
        tools.reporter.notice(notice)
    return PipRequest(
        section=plan.spec.pip,
        python_version=python.version,
        provided=provided,
        subdir=plan.draft.facts.subdir,
        scratch=tools.scratch(),
        offline=request.offline,
        locked=request.pip_locked,
        require_hashes=request.require_hashes,
    )


def plan_pip(plan: Plan, request: PipRequest, tools: Tools) -> Plan:
    """Resolve the pip section and judge what was chosen.

    Raises:
        PipFailed: the section cannot be resolved.
        PlanRefused: a wheel cannot run on this card and driver.
    """
    resolved = tools.pip().resolve(request, tools.reporter)
    found = check_pip(plan.spec, resolved, plan.solution, plan.draft.facts, plan.draft.virtual, tables=tools.tables())
    verdicts = (*plan.verdicts, *found)
    refuse_failed(structs.replace(plan.draft, verdicts=verdicts), tools)
    return structs.replace(plan, pip=resolved, verdicts=verdicts)


def refuse_failed(draft: Draft, tools: Tools) -> None:
    """Raise :class:`PlanRefused` for the failed verdicts, with the proof that the proposed changes work."""
    failed = tuple(verdict for verdict in draft.verdicts if verdict.status is Status.FAIL)
    if not failed:
        return
    message = failed[0].summary if len(failed) == 1 else f"{len(failed)} checks refuse this plan"
    proof = prove_changes(draft, failed, tools)
    raise PlanRefused(message, failed, details=proof)


def explained(error: Unsatisfiable, draft: Draft, tools: Tools) -> Unsatisfiable | PlanRefused:
    """Turn a solver's refusal into one with file:line of the specs that take part, and a fix where one is known."""
    verdict = explain_unsatisfiable(draft.spec, error, draft.channels, tools.tables())
    if verdict is not None:
        proof = prove_changes(draft, (verdict,), tools)
        return PlanRefused(verdict.summary, (verdict,), details=(*proof, "", *clipped(error.details)))
    parts = [part for merged in draft.spec.specs if merged.name in error.packages for part in merged.parts]
    asked = [f"{part.value:<30} {part.origin.where}   {part.origin.label}" for part in parts]
    return Unsatisfiable(
        error.message,
        packages=error.packages,
        details=(*asked, "", *clipped(error.details)) if asked else clipped(error.details),
        hint=error.hint
        or "relax one of these lines, or see which layer asks for it with `llmenv compose --explain PACKAGE`",
        origins=[part.origin for part in parts],
    )


def located(error: ChannelUnavailable, draft: Draft, tools: Tools) -> ChannelUnavailable:
    """Add the lines that list the channel and what gave it its address to an error about it."""
    origins = [
        origin for merged in draft.spec.channels if mask(merged.name) == error.channel for origin in merged.origins
    ]
    rules = [tools.describe_channel(channel) for channel in draft.channels if mask(channel.name) == error.channel]
    asked = [f"{origin.where}   {origin.label}" for origin in origins]
    return ChannelUnavailable(
        error.message,
        channel=error.channel,
        details=(*asked, *rules, *error.details),
        hint=error.hint,
        origins=origins,
    )


def clipped(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first lines of a solver's explanation; past a screenful it repeats itself."""
    if len(lines) <= EXPLAINED_LINES:
        return lines
    return (*lines[:EXPLAINED_LINES], f"… and {len(lines) - EXPLAINED_LINES} more lines of the same")


def prove_changes(draft: Draft, verdicts: tuple[Verdict, ...], tools: Tools) -> tuple[str, ...]:
    """Solve again with the proposed changes applied and say what comes out; silent where nothing is proposed."""
    changes = tuple(change for verdict in verdicts for change in verdict.changes)
    if not any(change.kind in EDITS and not change.kind.startswith("pip") for change in changes):
        return ()
    spec = apply_changes(draft.spec, changes)
    request = structs.replace(
        draft.solve,
        specs=tuple(text for merged in spec.specs for text in merged.texts),
        channels=tools.resolve_channels(tuple(channel.name for channel in spec.channels), spec.nodefaults is not None),
    )
    try:
        solution = tools.engine().solve(request, Silent())
    except Unsatisfiable as error:
        return (f"then  more has to move with it: {', '.join(error.packages) or 'other packages'}",)
    except LlmenvError:
        return ()  # what the change asks for cannot be reached from here; the refusal stands on its own
    shown = [solution.record(name) for name in ("pytorch", "cuda-version") if solution.record(name)]
    first = str(shown[0]) + ", " if shown else ""
    return (f"then  {first}{len(solution.records)} packages",)
