"""How a plan and a finished environment are told: facts one a line, or the JSON payload."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from conda_llmenv.checks.verdict import counts, proves, sentence
from conda_llmenv.cli import console
from conda_llmenv.cli.verdicts import chain_line, verdict_json, verdict_lines
from conda_llmenv.cli.verified import report_json, say_ladder, say_wrong
from conda_llmenv.model import PipPlan, Record, Status
from conda_llmenv.model.kernels import Kernelspec
from conda_llmenv.pipeline.create import Created
from conda_llmenv.pipeline.plan import Plan
from conda_llmenv.redact import strip

DEFAULT_ENGINE = "rattler, first usable"
"""How the choice of the embedded engine starts where nothing spoke against it; that goes without saying."""


def say_plan(plan: Plan) -> None:
    """Print tier, channels, solve and checks of a plan, one fact a line."""
    draft, solution = plan.draft, plan.solution
    if draft.tier is not None:
        console.fact("tier", f"{draft.tier.name}, {draft.tier.reason}")
    cuda = next((virtual for virtual in draft.virtual if virtual.name == "__cuda"), None)
    console.fact("cuda", f"solving as __cuda={cuda.version}, {cuda.reason}" if cuda else "none")
    names = " > ".join(channel.name for channel in draft.channels)
    console.fact("channels", f"{names}   ({draft.solve.channel_priority} priority)")
    console.fact("solve", f"{len(solution.records)} packages, {solution.engine}, {solution.seconds:.1f} s{_size(plan)}")
    if not plan.engine_reason.startswith(DEFAULT_ENGINE):
        console.fact("engine", plan.engine_reason)
    console.fact("chosen", _chosen(plan))
    if plan.pip is not None:
        console.fact("pip", pip_line(plan.pip))
    if plan.verdicts:
        console.fact("checks", chain_line(plan.verdicts))
    for verdict in plan.verdicts:
        if verdict.status is Status.WARN:
            console.say("\n".join((f"warning: {verdict.summary}", *verdict_lines(verdict))))


def _chosen(plan: Plan) -> str:
    """Return the packages that were asked for by name, as they were chosen."""
    asked = [plan.solution.record(merged.name) for merged in plan.spec.specs]
    shown = ", ".join(_short(record) for record in asked if record is not None)
    indent = " " * console.LABEL_WIDTH
    return "\n".join(console.wrapped(indent + shown, indent)).strip()


def _short(record: Record) -> str:
    """Return name and version, and the build where it tells what a package was built for."""
    told = "cuda" in record.build or record.build.startswith("cpu")
    return f"{record.name} {record.version}" + (f" {record.build}" if told else "")


def say_packages(plan: Plan) -> None:
    """Print every package of a plan."""
    rows = [(record.name, record.version, record.build, strip(record.channel)) for record in plan.solution.records]
    rows += [(package.name, package.version or "", "", "pip") for package in (plan.pip.packages if plan.pip else ())]
    console.out()
    console.table(("name", "version", "build", "channel"), rows)


def pip_line(plan: PipPlan) -> str:
    """Return the pip section of a plan on one line."""
    built = [package.name for package in plan.packages if package.built]
    size = sum(package.size or 0 for package in plan.packages)
    parts = [f"{len(plan.packages)} packages, {plan.installer}, {plan.seconds:.1f} s"]
    if size:
        parts.append(f"{console.size(size)} to fetch unless cached")
    if built:
        parts.append(f"built here: {', '.join(built)}")
    if plan.late:
        parts.append(f"after these, against them: {', '.join(plan.late)}")
    return "; ".join(parts)


def _size(plan: Plan) -> str:
    size = sum(record.size or 0 for record in plan.solution.records)
    return f", {console.size(size)}" if size else ""


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return a plan as it stands in a payload."""
    draft = plan.draft
    return {
        "tier": None if draft.tier is None else {"name": draft.tier.name, "reason": draft.tier.reason},
        "recipe": draft.spec.recipe.name if draft.spec.recipe else None,
        "virtual_packages": [
            {"name": virtual.name, "version": virtual.version, "reason": virtual.reason} for virtual in draft.virtual
        ],
        "channels": [{"name": channel.name, "url": strip(channel.url)} for channel in draft.channels],
        "channel_priority": draft.solve.channel_priority,
        "specs": list(draft.solve.specs),
        "engine": plan.solution.engine,
        "engine_reason": plan.engine_reason,
        "solve_seconds": round(plan.solution.seconds, 3),
        "packages": [_record_json(record) for record in plan.solution.records],
        "pip": None if plan.pip is None else _pip_json(plan.pip),
        "checks": [verdict_json(verdict) for verdict in plan.verdicts],
        "notices": console.notices_json(plan.notices),
    }


def _record_json(record: Record) -> dict[str, Any]:
    return {
        "name": record.name,
        "version": record.version,
        "build": record.build,
        "channel": strip(record.channel),
        "subdir": record.subdir,
        "url": strip(record.url),
        "sha256": record.sha256,
        "size": record.size,
    }


def _pip_json(plan: PipPlan) -> dict[str, Any]:
    return {
        "installer": plan.installer,
        "seconds": round(plan.seconds, 3),
        "packages": [
            {
                "name": package.name,
                "version": package.version,
                "requirement": strip(package.requirement),
                "hashes": list(package.hashes),
                "built": package.built,
                "size": package.size,
            }
            for package in plan.packages
        ],
        "late": [strip(line) for line in plan.late],
    }


def say_created(created: Created, *, name: str | None, kernels: Sequence[Kernelspec], as_json: bool) -> int:
    """Print what was made and return the exit code: 1 if something that was checked failed."""
    if as_json:
        console.payload("create", _created_json(created, kernels), ok=created.works)
        return 0 if created.works else 1
    console.warn_all(created.notices)
    console.fact("install", _install_line(created))
    if created.report is not None:
        say_ladder(created.report, verbose=False)
        if created.works:  # what failed is told at the end, with what to do about it
            say_wrong(created.report)
    console.fact("prefix", str(created.prefix))
    for spec in kernels:
        console.fact("kernel", f"{spec.name}: {spec.display_name}")
    if not created.works:
        return _say_broken(created)
    console.say(f"\n{_outcome(created)}. Use it:  conda activate {name or shlex.quote(str(created.prefix))}")
    if _has_python(created):
        console.say(f"   its Python:     {created.prefix}/bin/python (without the variables that activation sets)")
    return 0


def _has_python(created: Created) -> bool:
    return created.plan.solution.record("python") is not None


def _install_line(created: Created) -> str:
    pip = f", pip {len(created.pip.packages)}" if created.pip else ""
    seconds = "  ".join(f"{stage} {value:.1f} s" for stage, value in created.seconds.items() if stage != "verify")
    return f"conda {len(created.plan.solution.records)}{pip}   {seconds}"


def _outcome(created: Created) -> str:
    report = created.report
    if report is None or not created.plan.solution.records:
        return "created"
    return "verified" if proves(report) else f"created; {sentence(report)}"


def _say_broken(created: Created) -> int:
    if created.report is not None:
        say_wrong(created.report)
        console.out()
        console.out(sentence(created.report))
        console.out(f"{counts(created.report)}; the environment stays `created`, not `verified`")
    again = shlex.quote(str(created.prefix))
    console.say(f"\nhint: `llmenv remove -p {again}` removes it; --no-verify skips the checks")
    return 1


def _created_json(created: Created, kernels: Sequence[Kernelspec]) -> dict[str, Any]:
    from conda_llmenv.cli.kernel_tools import spec_json

    result = created.pip
    return {
        "prefix": str(created.prefix),
        "dry_run": False,
        **plan_json(created.plan),
        "pip_installed": []
        if result is None
        else [f"{package.name}=={package.version}" for package in result.packages],
        "verify": None if created.report is None else report_json(created.report),
        "kernel": spec_json(kernels[0]) if kernels else None,
        "seconds": dict(created.seconds),
        "notices": console.notices_json((*created.plan.notices, *created.notices)),
    }
