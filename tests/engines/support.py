"""What the engine tests share: requests with everything explicit, and a reporter that remembers."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conda_llmenv.engines.options import ClientOptions
from conda_llmenv.engines.rattler.engine import RattlerEngine
from conda_llmenv.model import Channel, InstallRequest, Notice, Record, Solution, SolveRequest, VirtualPackage
from tests.channel.interpreter import subdir

SUBDIRS = (subdir(), "noarch")
HOST = (
    VirtualPackage("__unix", "0"),
    VirtualPackage("__linux", "6.8"),
    VirtualPackage("__glibc", "2.35"),
)
CUDA = (*HOST, VirtualPackage("__cuda", "12.8"))


@dataclass
class Recorder:
    """A reporter that keeps every call, from whichever thread."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Keep the call."""
        self._keep("start", stage, total)

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Keep the call."""
        self._keep("advance", stage, done, total)

    def finish(self, stage: str, detail: str = "") -> None:
        """Keep the call."""
        self._keep("finish", stage)

    def line(self, stage: str, text: str) -> None:
        """Keep the call."""
        self._keep("line", stage, text)

    def notice(self, notice: Notice) -> None:
        """Keep the notice."""
        self.notices.append(notice)

    def _keep(self, *call: Any) -> None:
        with self._lock:
            self.calls.append(call)

    def of(self, kind: str, stage: str) -> list[tuple[Any, ...]]:
        """Return what was reported of a stage, without its two first words."""
        return [call[2:] for call in self.calls if call[:2] == (kind, stage)]


def engine(**options: Any) -> RattlerEngine:
    """Return an engine that does not try again: a local server does not recover."""
    return RattlerEngine(ClientOptions(**{"max_retries": 0} | options))


def channel(where: Path | str, name: str = "conda-forge") -> Channel:
    """Return a channel of the offline pair, or one at any URL."""
    return Channel(name, where if isinstance(where, str) else (where / name).as_uri())


def solve_request(*specs: str, channels: tuple[Channel, ...], **more: Any) -> SolveRequest:
    """Return a request for this machine's subdirs with the virtual packages of a machine without a GPU."""
    return SolveRequest(specs=specs, channels=channels, **{"subdirs": SUBDIRS, "virtual_packages": HOST} | more)


def solve(*specs: str, channels: tuple[Channel, ...], **more: Any) -> Solution:
    """Solve and return the solution."""
    return engine().solve(solve_request(*specs, channels=channels, **more), Recorder())


def named(solution: Solution) -> dict[str, str]:
    """Return the versions that were chosen, by name."""
    return {record.name: record.version for record in solution.records}


def chosen(solution: Solution, name: str) -> Record:
    """Return the record of a package that has to be there."""
    record = solution.record(name)
    assert record is not None, f"{name} is not in {sorted(named(solution))}"
    return record


def install(solution: Solution, prefix: Path, cache: Path, **more: Any) -> Recorder:
    """Install a solution and return what was reported."""
    recorder = Recorder()
    engine().install(InstallRequest(solution.records, prefix, cache, **{"subdir": subdir()} | more), recorder)
    return recorder
