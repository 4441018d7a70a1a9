"""Which engines there are, whether they can run here, and which one ``auto`` means and why."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

from msgspec import Struct

from conda_llmenv.engines.options import ClientOptions, NetworkSettings, patience
from conda_llmenv.errors import InputError
from conda_llmenv.ports import Engine

AUTO = "auto"


class Availability(Struct, frozen=True):
    """Whether an engine can run here, and the sentence that says why (not)."""

    usable: bool
    reason: str


class Choice(Struct, frozen=True):
    """An engine and the sentence that says why it is this one."""

    engine: Engine
    reason: str


class Entry(Struct, frozen=True):
    """One row of the table of engines.

    Attributes:
        module: what has to be importable.
        library: that module's name as a person knows it.
        install: the command that brings it.
        construct: makes the engine.
        summary: what it is, in a line.
    """

    module: str
    library: str
    install: str
    construct: Callable[[ClientOptions], Engine]
    summary: str

    @property
    def package(self) -> str:
        """The top of what has to be importable."""
        return self.module.partition(".")[0]

    def available(self) -> Availability:
        """Import the library and say how that went; a broken one is a sentence, never a crash."""
        try:
            importlib.import_module(self.module)
        except ModuleNotFoundError as error:
            if error.name in {self.module, self.package}:
                return Availability(usable=False, reason=f"{self.library} is not installed in this Python")
            return Availability(usable=False, reason=f"{self.library} lacks a module it needs: {error.name}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a library that cannot be loaded may fail in any way
            return Availability(usable=False, reason=f"{self.library} cannot be loaded: {_one_line(error)}")
        version = getattr(sys.modules[self.package], "__version__", "")
        return Availability(usable=True, reason=f"{self.library} {version}".strip())


def _rattler(options: ClientOptions) -> Engine:
    from conda_llmenv.engines.rattler.engine import RattlerEngine

    return RattlerEngine(options)


def _conda(_: ClientOptions) -> Engine:
    from conda_llmenv.engines.conda.engine import CondaEngine

    return CondaEngine()


def _libmamba(options: ClientOptions) -> Engine:
    from conda_llmenv.engines.libmamba.engine import LibmambaEngine

    return LibmambaEngine(options)


ENGINES = {
    "rattler": Entry(
        "rattler",
        "py-rattler",
        "python -m pip install py-rattler",
        _rattler,
        "embedded; solves, downloads and links without conda",
    ),
    "conda": Entry(
        "conda",
        "conda",
        "run this as `conda llmenv`, from conda's own base environment",
        _conda,
        "conda's configured solver, its transaction, caches and plugins",
    ),
    "libmamba": Entry(
        "libmambapy.solver",
        "libmambapy",
        "conda install -n base libmambapy",
        _libmamba,
        "mamba's solver; what it chooses is fetched and linked by the embedded engine",
    ),
}
"""Every engine, in the order ``auto`` tries them."""


def availability() -> dict[str, Availability]:
    """Return, for each engine, whether it can run here and why (not)."""
    return {name: entry.available() for name, entry in ENGINES.items()}


def choose(name: str = AUTO, settings: NetworkSettings | None = None, *, by: str = "asked for") -> Choice:
    """Return the engine of that name, or for ``auto`` the first one that can do what the configuration asks.

    The embedded engine is preferred, unless the configuration has something that only conda itself knows how to honour
    and conda is there.

    Args:
        name: of the engine.
        settings: the configuration.
        by: who asked for an engine by its name, in words.

    Raises:
        InputError: there is no such engine, or it cannot run here.
    """
    if name != AUTO and name not in ENGINES:
        raise InputError(f"there is no engine called {name!r}", hint=f"use one of {AUTO}, {', '.join(ENGINES)}")
    if name != AUTO:
        return _chosen(name, settings, by)
    reasons = settings.conda_only if settings is not None else ()
    if reasons and ENGINES["conda"].available().usable:
        return Choice(ENGINES["conda"].construct(_options(settings)), f"conda, since only it honours {reasons[0]}")
    return _first_usable(settings)


def _chosen(name: str, settings: NetworkSettings | None, by: str) -> Choice:
    entry = ENGINES[name]
    state = entry.available()
    if not state.usable:
        raise InputError(f"engine {name} ({by}) cannot run here: {state.reason}", hint=entry.install)
    return Choice(entry.construct(_options(settings)), f"{name}, {by}")


def _first_usable(settings: NetworkSettings | None) -> Choice:
    passed: list[str] = []
    for name, entry in ENGINES.items():
        state = entry.available()
        if state.usable:
            why = f"; passed over: {', '.join(passed)}" if passed else ""
            return Choice(entry.construct(_options(settings)), f"{name}, first usable: {state.reason}{why}")
        passed.append(f"{name} ({state.reason})")
    raise InputError("no engine can run here", details=passed, hint=ENGINES["rattler"].install)


def _options(settings: NetworkSettings | None) -> ClientOptions:
    if settings is None:
        return ClientOptions()
    return ClientOptions(
        ssl_verify=settings.ssl_verify,
        proxy_servers=dict(settings.proxy_servers),
        max_retries=settings.remote_max_retries,
        read_timeout=patience(settings),
        ignored=settings.conda_only,
    )


def _one_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
