"""Calls the conda engine in conda's own Python: ``python -m tests.conda.calls NAME < arguments.json > result.json``."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from conda_llmenv.engines.registry import choose
from conda_llmenv.errors import ChannelUnavailable, LlmenvError, Unsatisfiable
from conda_llmenv.model import Channel, InstallRequest, Notice, Record, SolveRequest, VirtualPackage

HOST = (VirtualPackage("__unix", "0"), VirtualPackage("__linux", "6.8"), VirtualPackage("__glibc", "2.35"))


class Heard:
    """A reporter that keeps what it hears."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._lock = threading.Lock()

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Keep it."""
        self._keep("start", stage, total)

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Keep it."""
        self._keep("advance", stage, done, total)

    def finish(self, stage: str, detail: str = "") -> None:
        """Keep it."""
        self._keep("finish", stage)

    def line(self, stage: str, text: str) -> None:
        """Keep it."""
        self._keep("line", stage, text)

    def notice(self, notice: Notice) -> None:
        """Keep it."""
        self._keep("notice", notice.code, notice.message)

    def _keep(self, *call: Any) -> None:
        with self._lock:
            self.calls.append(call)


def solve(engine: str = "conda", **fields: Any) -> dict[str, Any]:
    """Solve and return the records, or the failure, and what was heard."""
    heard = Heard()
    return _outcome(heard, lambda: {"records": choose(engine).engine.solve(_request(fields), heard).records})


def install(records: list[Any], prefix: str, package_cache: str, engine: str = "conda", **more: Any) -> dict[str, Any]:
    """Install and return what was heard, and the failure if there was one; ``given_up`` after so many questions."""
    heard = Heard()
    patience: int | None = more.pop("given_up", None)
    asked: list[None] = []

    def given_up() -> bool:
        asked.append(None)
        return patience is not None and len(asked) > patience

    request = InstallRequest(
        msgspec.convert(records, tuple[Record, ...]),
        Path(prefix),
        Path(package_cache),
        requested=tuple(more.pop("requested", ())),
        given_up=None if patience is None else given_up,
        **more,
    )

    def work() -> dict[str, Any]:
        choose(engine).engine.install(request, heard)
        return {}

    return _outcome(heard, work)


def undone(calls: list[dict[str, Any]], prefix: str, package_cache: str) -> dict[str, Any]:
    """Solve and install, and return what of conda's state, the streams and the environment is other than before."""
    from conda.base.context import context
    from conda.core.prefix_data import PrefixData

    from conda_llmenv.engines.conda.settings import initialise

    initialise()
    before, streams, environ = dict(vars(context)), (sys.stdin, sys.stdout, sys.stderr), dict(os.environ)
    plugins = len(context.plugin_manager.get_plugins())
    outcomes = [solve(**call) for call in calls]
    install(msgspec.to_builtins(outcomes[0]["records"]), prefix, package_cache)
    after = vars(context)
    return {
        "settings": sorted(key for key in before.keys() | after.keys() if before.get(key) is not after.get(key)),
        "streams": (sys.stdin, sys.stdout, sys.stderr) == streams,
        "environ": dict(os.environ) == environ,
        "plugins": len(context.plugin_manager.get_plugins()) - plugins,
        "virtual": [record.name for record in context.plugin_manager.get_virtual_package_records()],
        "prefixes": [str(place) for place, _ in PrefixData._cache_],
    }


def _request(fields: dict[str, Any]) -> SolveRequest:
    fields = dict(fields)
    channels = tuple(Channel(name, url) for name, url in fields.pop("channels"))
    virtual = fields.pop("virtual_packages", None)
    day = fields.pop("exclude_newer", None)
    return SolveRequest(
        specs=tuple(fields.pop("specs")),
        channels=channels,
        subdirs=tuple(fields.pop("subdirs")),
        virtual_packages=HOST if virtual is None else tuple(VirtualPackage(*one) for one in virtual),
        exclude_newer=dt.datetime.fromisoformat(day) if day else None,
        constraints=tuple(fields.pop("constraints", ())),
        locked=msgspec.convert(fields.pop("locked", []), tuple[Record, ...]),
        **fields,
    )


def _outcome(heard: Heard, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return {**work(), "heard": heard.calls}
    except LlmenvError as error:
        return {"failure": _failure(error), "heard": heard.calls}


def _failure(error: LlmenvError) -> dict[str, Any]:
    return {
        "kind": type(error).__name__,
        "message": error.message,
        "details": error.details,
        "hint": error.hint,
        "packages": error.packages if isinstance(error, Unsatisfiable) else (),
        "channel": error.channel if isinstance(error, ChannelUnavailable) else "",
    }


if __name__ == "__main__":
    named: dict[str, Callable[..., dict[str, Any]]] = {"solve": solve, "install": install, "undone": undone}
    result = named[sys.argv[1]](**json.load(sys.stdin))
    sys.stdout.buffer.write(msgspec.json.encode(result))
