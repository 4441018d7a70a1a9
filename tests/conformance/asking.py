"""A case as the request an engine gets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path

from conda_llmenv.compose import ComposeRequest, compose
from conda_llmenv.hardware import virtual_packages
from conda_llmenv.model import Channel, HostFacts, SolveRequest, VirtualPackage
from tests.conformance.cases import Asked, Case, Composition
from tests.conformance.messages import Question
from tests.conformance.worlds import Place
from tests.content.packaged import FRAGMENTS, PackagedLibrary

PLAIN_MACHINE = {"__unix": "0", "__linux": "6.8", "__glibc": "2.35", "__archspec": "1 x86_64_v3"}
"""A Linux machine without a card."""

LOGIN_NODE = HostFacts(subdir="linux-64", glibc="2.35", kernel="6.8", cpu_level="x86_64_v3")

REVERSED = "~reversed"
"""Ends the id of the same request with its specs the other way round."""


def questions_of(asked: Asked, place: Place, repodata: Path) -> Iterable[Question]:
    """Yield the case's request and, where it has several specs, the same one in another order."""
    request = request_of(asked.case, place, repodata)
    yield Question(asked.id, request)
    if reversible(asked):
        backwards = SolveRequest(
            request.specs[::-1],
            request.channels,
            request.subdirs,
            request.virtual_packages[::-1],
            request.channel_priority,
            request.constraints[::-1],
            request.exclude_newer,
            request.locked[::-1],
            request.repodata_cache,
        )
        yield Question(asked.id + REVERSED, backwards)


def reversible(asked: Asked) -> bool:
    """Return whether a case is also asked with its specs the other way round."""
    return len(asked.case.specs) > 1


def request_of(case: Case, place: Place, repodata: Path) -> SolveRequest:
    """Return a case as a request to channels that lie in ``place``."""
    composed_specs, composed_host = _composed(case.compose) if case.compose else ((), ())
    return SolveRequest(
        specs=(*composed_specs, *map(place.filled, case.specs)),
        channels=tuple(Channel(name, place.url(name)) for name in case.channels),
        subdirs=(case.subdir or place.subdir, "noarch"),
        virtual_packages=composed_host or _host(case),
        channel_priority=case.priority,
        constraints=tuple(map(place.filled, case.constraints)),
        exclude_newer=dt.datetime.fromisoformat(case.exclude_newer) if case.exclude_newer else None,
        locked=tuple(map(place.record, case.locked)),
        repodata_cache=repodata,
    )


def _host(case: Case) -> tuple[VirtualPackage, ...]:
    offered = {**PLAIN_MACHINE, **case.host}
    return tuple(VirtualPackage(name, *text.split()) for name, text in offered.items() if text is not None)


def _composed(composition: Composition) -> tuple[tuple[str, ...], tuple[VirtualPackage, ...]]:
    """Return specs and virtual packages as a plan on a login node has them."""
    files = tuple(path for path in FRAGMENTS if path.stem in composition.fragments)
    spec = compose(ComposeRequest(tier=composition.tier, recipe=composition.recipe, files=files), PackagedLibrary())
    virtual, _ = virtual_packages(LOGIN_NODE, spec, {})
    texts = (text for merged in spec.specs if merged.name not in composition.without for text in merged.texts)
    return tuple(texts), virtual
