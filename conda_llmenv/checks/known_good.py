"""Which combinations of card, driver, CUDA, framework and libraries are known to work."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from conda_llmenv.checks.verdict import is_only_unrecorded, passed, proves
from conda_llmenv.checks.versions import ACCELERATORS, MODEL_LIBRARIES
from conda_llmenv.model import Level, Report


class Parts(Struct, frozen=True):
    """What a combination is made of, as text; empty where there is none.

    Attributes:
        card: names and counts, such as ``NVIDIA H200 ×8``, or ``no GPU``.
        driver, cuda, torch: versions.
        models, accelerators: ``name version``, several with a comma between.
        fingerprint: of the environment.
    """

    card: str
    driver: str
    cuda: str
    torch: str
    models: str
    accelerators: str
    fingerprint: str


class Combination(Struct, frozen=True):
    """One combination with the report that speaks for it.

    Attributes:
        parts: what it is made of.
        report: the newest whole pass of the highest level, unless something failed since.
        runs: how many reports there are of it.
    """

    parts: Parts
    report: Report
    runs: int = 1


def combinations(reports: Iterable[Report]) -> tuple[Combination, ...]:
    """Return each combination once, the one with the newest report first.

    Args:
        reports: newest first.
    """
    found: dict[Parts, list[Report]] = {}
    for report in reports:
        found.setdefault(parts(report), []).append(report)
    return tuple(Combination(of, _speaker(those), len(those)) for of, those in found.items())


def parts(report: Report) -> Parts:
    """Return what the combination is made of that a report is about."""
    return Parts(
        card=card(report),
        driver=report.host.driver or "",
        cuda=report.versions.get("cuda", ""),
        torch=report.versions.get("torch", ""),
        models=_named(MODEL_LIBRARIES, report.versions),
        accelerators=_named(ACCELERATORS, report.versions),
        fingerprint=report.fingerprint,
    )


def card(report: Report) -> str:
    """Return the cards of a report's machine with their counts."""
    counted = Counter(gpu.name for gpu in report.host.gpus)
    return ", ".join(f"{name} ×{count}" for name, count in sorted(counted.items())) or "no GPU"


def last_good(reports: Iterable[Report]) -> Report | None:
    """Return the first whole pass of the full level or above that proves its environment, or None.

    Args:
        reports: newest first.
    """
    return next((one for one in reports if proves(one) and one.level >= Level.FULL), None)


def _speaker(those: list[Report]) -> Report:
    """Return the report that speaks for a combination: a failure since the last pass, else the highest pass."""
    telling = [report for report in those if not is_only_unrecorded(report)]
    good = list(itertools.takewhile(passed, telling))
    if good:
        return max(good, key=lambda one: (one.whole and not one.reused_from, one.level))
    return telling[0] if telling else those[0]


def _named(names: Iterable[str], versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {versions[name]}" for name in names if name in versions)
