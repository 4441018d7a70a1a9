"""What has changed from one report to another: machine, versions, environment, checks and figures."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from conda_llmenv.checks.known_good import card
from conda_llmenv.model import Report, Status

MOVED = 0.1
"""The part by which a figure has to differ to be named."""


class Difference(Struct, frozen=True):
    """One thing that is not as it was; ``kind`` is card, machine, version, environment, check or figure."""

    kind: str
    name: str
    before: str
    after: str


def differences(before: Report, after: Report) -> tuple[Difference, ...]:
    """Return what changed from one report to another: machine, versions, environment, checks and figures."""
    return (*_machine(before, after), *_versions(before, after), *_environment(before, after), *_checks(before, after))


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
