"""Which combinations of card, driver, CUDA, framework and libraries are known to work, and what has changed since."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from conda_llmenv.checks.verdict import passed, proves
from conda_llmenv.model import Level, Report, Status

MODEL_LIBRARIES = ("transformers", "trl", "torchtune", "litgpt", "megatron-core", "vllm")
ACCELERATORS = ("accelerate", "deepspeed", "flash-attn", "peft", "bitsandbytes", "xformers", "liger-kernel")
"""What the two columns of libraries are looked for in."""

RECORD = "record"
"""Group of the line by which a preflight says whether a whole pass is on record."""

MOVED = 0.1
"""The part by which a figure has to differ to be named in a comparison."""


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


class Difference(Struct, frozen=True):
    """One thing that is not as it was; ``kind`` is card, machine, version, environment, check or figure."""

    kind: str
    name: str
    before: str
    after: str


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


def verdict(report: Report) -> str:
    """Return what a report came to, in a few words for a table."""
    if report.by_status(Status.FAIL):
        return "no pass on record" if _is_only_unrecorded(report) else "failed"
    if report.by_status(Status.ERROR):
        return "could not be run"
    if not report.results or all(result.status is Status.SKIP for result in report.results):
        return "nothing checked"
    word = "warned" if report.by_status(Status.WARN) else "passed"
    if not report.whole:
        return f"{word} (some checks)"
    return f"{word} ({report.level.word}{', unproven' if report.unproven else ''})"


def last_good(reports: Iterable[Report]) -> Report | None:
    """Return the first whole pass of the full level or above that proves its environment, or None.

    Args:
        reports: newest first.
    """
    return next((one for one in reports if proves(one) and one.level >= Level.FULL), None)


def differences(before: Report, after: Report) -> tuple[Difference, ...]:
    """Return what changed from one report to another: machine, versions, environment, checks and figures."""
    return (*_machine(before, after), *_versions(before, after), *_environment(before, after), *_checks(before, after))


def _speaker(those: list[Report]) -> Report:
    """Return the report that speaks for a combination: a failure since the last pass, else the highest pass."""
    telling = [report for report in those if not _is_only_unrecorded(report)]
    good = list(itertools.takewhile(passed, telling))
    if good:
        return max(good, key=lambda one: (one.whole and not one.reused_from, one.level))
    return telling[0] if telling else those[0]


def _is_only_unrecorded(report: Report) -> bool:
    """Return whether a preflight found nothing wrong but that nobody has verified this environment on this machine."""
    failed = report.by_status(Status.FAIL, Status.ERROR)
    return bool(failed) and all(result.group == RECORD for result in failed)


def _named(names: Iterable[str], versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {versions[name]}" for name in names if name in versions)


def _machine(before: Report, after: Report) -> Iterator[Difference]:
    yield from _changed("card", "card", card(before), card(after))
    yield from _changed("machine", "name", before.hostname, after.hostname)
    for name in ("driver", "cuda_max", "glibc", "kernel", "cpu_level", "cpus"):
        yield from _changed("machine", name.replace("_", " "), getattr(before.host, name), getattr(after.host, name))


def _versions(before: Report, after: Report) -> Iterator[Difference]:
    for name in dict.fromkeys((*before.versions, *after.versions)):
        yield from _changed("version", name, before.versions.get(name), after.versions.get(name))
    yield from _changed("version", "llmenv", before.llmenv, after.llmenv)


def _environment(before: Report, after: Report) -> Iterator[Difference]:
    yield from _changed("environment", "path", before.prefix, after.prefix)
    yield from _changed("environment", "fingerprint", before.fingerprint, after.fingerprint)
    yield from _changed("environment", "tier", before.tier, after.tier)
    yield from _changed("environment", "recipe", before.recipe, after.recipe)


def _checks(before: Report, after: Report) -> Iterator[Difference]:
    was = {result.id: result for result in before.results}
    for result in after.results:
        old = was.get(result.id)
        if old is None:
            continue
        yield from _changed(
            "check",
            result.id,
            _said(old.status, old.finding.summary),
            _said(result.status, result.finding.summary),
            same=old.status is result.status,
        )
        for name, value in result.finding.figures.items():
            earlier = old.finding.figures.get(name)
            if earlier is not None and abs(value - earlier) > MOVED * abs(earlier):
                yield Difference("figure", f"{result.id} {name}", f"{earlier:.3g}", f"{value:.3g}")


def _said(status: Status, summary: str) -> str:
    return status.value if status is Status.PASS else f"{status.value}: {summary}"


def _changed(kind: str, name: str, before: object, after: object, *, same: bool | None = None) -> Iterator[Difference]:
    if not (before == after if same is None else same):
        yield Difference(kind, name, _text(before), _text(after))


def _text(value: object) -> str:
    return "none" if value is None or value == "" else str(value)
