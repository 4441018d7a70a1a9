"""The first link: the card, the CUDA versions that know it, and the code a build holds for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from packaging.version import Version

from conda_llmenv.hardware.asked import CudaAsk
from conda_llmenv.hardware.cuda import ChosenCuda, limit_cuda, misfit, replacements
from conda_llmenv.hardware.tables import Capability, Tables
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.tiers import dotted
from conda_llmenv.model import Change, EnvSpec, HostFacts, Status, Verdict

LINK = "card"

_ARCH = re.compile(r"(?P<kind>sm|compute)_(?P<major>\d{1,2}?)(?P<minor>\d)(?P<suffix>[af]?)")

_BOARDS = frozenset({(8, 7), (10, 1)})
"""Capabilities of boards whose machine code is their own: neither runs desktop code nor the other way round."""


class Served(Struct, frozen=True):
    """Whether a build has code for a card: ``by`` is the entry of its list that serves it."""

    status: Status
    by: str = ""


def serves(arch_list: Iterable[str], capability: Capability) -> Served:
    """Return whether code for ``arch_list`` runs on a card of ``capability``.

    Machine code (``sm_86``) runs on the same major and a minor no smaller; ``sm_90a`` only on exactly 9.0. PTX
    (``compute_90``) is translated at start by the driver for any card no older: that counts, with a warning (CUDA
    programming guide, "Compute capabilities"; the check in torch.cuda).
    """
    parsed = [(match, text) for text in arch_list if (match := _ARCH.fullmatch(text))]
    for match, text in parsed:
        if match["kind"] == "sm" and _native(_built(match), match["suffix"], capability):
            return Served(Status.PASS, text)
    for match, text in parsed:
        if match["kind"] == "compute" and match["suffix"] != "a" and _built(match) <= capability:
            return Served(Status.WARN, text)
    return Served(Status.FAIL)


def _built(match: re.Match[str]) -> Capability:
    return int(match["major"]), int(match["minor"])


def _native(built: Capability, suffix: str, capability: Capability) -> bool:
    if suffix == "a" or built in _BOARDS or capability in _BOARDS:
        return built == capability
    return built[0] == capability[0] and built[1] <= capability[1]


def check_present(target: Target, facts: HostFacts) -> tuple[Verdict, ...]:
    """Judge the card itself: seen here, assumed, or another one than the tier is for."""
    if target.wants_gpu is not True:
        return ()
    if not target.assumed:
        return (Verdict("card", LINK, Status.PASS, f"{target.card} is a card of {target.label}"),)
    if not facts.gpus:
        words = f"no card here; planned for {target.card or target.label}"
        return (Verdict("card", LINK, Status.SKIP, words, origins=target.origins),)
    return (
        Verdict(
            "card",
            LINK,
            Status.WARN,
            f"{target.label} is not the tier of the card here, {facts.gpus[0].name}",
            why=f"The plan is judged for {target.card or 'the cards of the tier'}; it may not run on this machine.",
            origins=target.origins,
            changes=(Change("tier", ("use --tier auto for the card of this machine",)),),
        ),
    )


def check_asks(asks: Sequence[CudaAsk], spec: EnvSpec, target: Target, tables: Tables) -> tuple[Verdict, ...]:
    """Refuse specs that leave no CUDA the card can use, before anything is solved."""
    if target.capability is None or target.wants_gpu is False:
        return ()
    wrong = [ask for ask in asks if all(misfit(cuda, target.capability, tables) for cuda in ask.allowed)]
    if not wrong:
        return ()
    nearest = max(wrong[0].allowed)
    changes = replacements(wrong, spec, target, tables) or (_other_card(nearest, tables),)
    return (
        Verdict(
            "card-cuda",
            LINK,
            Status.FAIL,
            f"{target.card} cannot use {wrong[0].text}: it {misfit(nearest, target.capability, tables)}",
            detail=tuple(f"{ask.where} allows CUDA {span(ask.allowed)}" for ask in wrong),
            why=_why(nearest, target.capability, tables),
            origins=tuple(dict.fromkeys(origin for ask in wrong for origin in ask.origins)),
            changes=changes,
        ),
    )


def check_chosen(chosen: ChosenCuda, spec: EnvSpec, target: Target, tables: Tables) -> tuple[Verdict, ...]:
    """Judge the CUDA that a solver chose against the card."""
    cuda = chosen.cuda
    if target.capability is None or target.wants_gpu is False:
        return ()
    reason = misfit(cuda, target.capability, tables)
    if reason is None:
        return (Verdict("card-cuda", LINK, Status.PASS, f"CUDA {cuda} knows {target.card}"),)
    return (
        Verdict(
            "card-cuda",
            LINK,
            Status.FAIL,
            f"{target.card} cannot use {chosen.words}: it {reason}",
            why=_why(cuda, target.capability, tables),
            origins=chosen.origins,
            changes=limit_cuda(spec, target, tables),
        ),
    )


def _why(cuda: Version, capability: Capability, tables: Tables) -> str:
    if tables.dropped_by(capability, cuda):
        return f"CUDA {cuda} neither compiles for compute capability {dotted(capability)} nor has libraries for it."
    return (
        f"CUDA {cuda} is older than compute capability {dotted(capability)}: its libraries hold no code for the card."
    )


def span(allowed: Sequence[Version]) -> str:
    """Return versions as ``11.1`` or ``12.4 to 12.9``."""
    return str(allowed[0]) if len(allowed) == 1 else f"{allowed[0]} to {allowed[-1]}"


def _other_card(cuda: Version, tables: Tables) -> Change:
    names: dict[Capability, str] = {}
    for name, found in tables.capabilities.items():
        names.setdefault(found, name)
    known = [found for found in sorted(names) if misfit(cuda, found, tables) is None]
    examples = ", ".join(f"{names[found]} ({dotted(found)})" for found in known[-3:])
    return Change("tier", (f"choose a tier whose cards CUDA {cuda} knows, such as {examples}",))
