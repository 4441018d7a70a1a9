"""The last link: compiled accelerators with needs of their own, flash-attn above all."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import Version

from conda_llmenv.hardware.tables import Accelerator, Tables
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.tiers import dotted
from conda_llmenv.model import Change, EnvSpec, Origin, Status, Verdict

LINK = "accelerator"


def check_card(spec: EnvSpec, target: Target, tables: Tables) -> tuple[Verdict, ...]:
    """Judge every accelerator that is asked for, on either side, against the card."""
    return tuple(
        _judged(need, origin, side, target)
        for name, need in tables.accelerators.items()
        for side, origin in _asked(spec, name)
        if target.wants_gpu is False or target.capability is not None
    )


def _asked(spec: EnvSpec, name: str) -> list[tuple[str, Origin]]:
    """Where an accelerator is asked for, as ``conda`` or ``pip`` with the line."""
    found = [("pip", requirement.origin) for requirement in spec.pip.requirements if requirement.name == name]
    merged = spec.spec(name)
    return [*([("conda", merged.parts[-1].origin)] if merged and merged.parts else []), *found]


def _judged(need: Accelerator, origin: Origin, side: str, target: Target) -> Verdict:
    enough = target.capability is not None and target.capability >= need.capability
    if target.wants_gpu is not False and enough:
        return Verdict("accelerator-card", LINK, Status.PASS, f"{need.name} has kernels for {target.card}")
    lacks = "there is no card" if target.wants_gpu is False else f"{target.card} is below it"
    drop = Change("drop", (), origin, need.name)
    by_hand = Change("host", (f"remove {need.name} at {origin.where}",), origin, need.name)
    return Verdict(
        "accelerator-card",
        LINK,
        Status.FAIL,
        f"{need.name} needs compute capability {dotted(need.capability)} or newer, and {lacks}",
        why=f"Its kernels are written for newer cards; {need.instead} serve this one.",
        origins=(origin,),
        changes=(drop if side == "conda" else by_hand,),
    )


def check_versions(
    torch: Version | None,
    cuda: Version | None,
    versions: Mapping[str, Version],
    origins: Mapping[str, Origin],
    tables: Tables,
) -> tuple[Verdict, ...]:
    """Judge the accelerators of a plan against its torch and CUDA."""
    found = []
    for name, need in tables.accelerators.items():
        version = versions.get(name)
        if version is None or version < need.since:
            continue
        origin = origins.get(name)
        for what, have, least in (("torch", torch, need.torch), ("CUDA", cuda, need.cuda)):
            if have is not None and have < least:
                found.append(
                    Verdict(
                        "accelerator-version",
                        LINK,
                        Status.FAIL,
                        f"{name} {version} needs {what} {least} or newer, and the plan has {have}",
                        origins=(origin,) if origin else (),
                    )
                )
    return tuple(found)
