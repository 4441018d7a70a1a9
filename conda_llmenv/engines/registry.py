"""Which engines there are, whether they can run here, and which one ``auto`` means and why."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from msgspec import Struct

from conda_llmenv.engines.options import ClientOptions, NetworkSettings
from conda_llmenv.errors import InputError
from conda_llmenv.ports import Engine


class Availability(Struct, frozen=True):
    """Whether an engine can run here, and the sentence that says why (not)."""

    usable: bool
    reason: str


class Choice(Struct, frozen=True):
    """An engine and the sentence that says why it is this one."""

    engine: Engine
    reason: str


class Entry(Struct, frozen=True):
    """One row of the table of engines."""

    construct: Callable[[ClientOptions], Engine]
    available: Callable[[], Availability]
    summary: str


def _rattler(options: ClientOptions) -> Engine:
    from conda_llmenv.engines.rattler.engine import RattlerEngine

    return RattlerEngine(options)


def _rattler_available() -> Availability:
    if importlib.util.find_spec("rattler") is None:
        return Availability(usable=False, reason="py-rattler is not installed in this Python")
    return Availability(usable=True, reason="py-rattler is installed")


ENGINES = {"rattler": Entry(_rattler, _rattler_available, "embedded; solves, downloads and links without conda")}
"""Every engine, in the order ``auto`` tries them."""


def availability() -> dict[str, Availability]:
    """Return, for each engine, whether it can run here and why (not)."""
    return {name: entry.available() for name, entry in ENGINES.items()}


def choose(name: str = "auto", settings: NetworkSettings | None = None) -> Choice:
    """Return the engine of that name, or the first usable one for ``auto``.

    Raises:
        InputError: there is no such engine, or it cannot run here.
    """
    if name not in (*ENGINES, "auto"):
        raise InputError(f"there is no engine called {name!r}", hint=f"use one of auto, {', '.join(ENGINES)}")
    states = {key: ENGINES[key].available() for key in (ENGINES if name == "auto" else (name,))}
    for key, state in states.items():
        if state.usable:
            why = "asked for" if name == key else f"first usable: {state.reason}"
            return Choice(ENGINES[key].construct(_options(settings)), f"{key}, {why}")
    details = [f"{key}: {state.reason}" for key, state in states.items()]
    raise InputError(f"engine {name} cannot run here", details=details, hint="python -m pip install py-rattler")


def _options(settings: NetworkSettings | None) -> ClientOptions:
    if settings is None:
        return ClientOptions()
    return ClientOptions(
        ssl_verify=settings.ssl_verify,
        proxy_servers=dict(settings.proxy_servers),
        max_retries=settings.remote_max_retries,
    )
