"""Reports as the ladder would write them, in one line each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conda_llmenv.history.places import HistoryFolder
from conda_llmenv.history.store import Store
from conda_llmenv.model import CheckResult, Finding, Gpu, HostFacts, Level, Notice, Report, Status

START = dt.datetime(2026, 11, 2, 8, tzinfo=dt.timezone.utc)
CARD = Gpu("NVIDIA H200", 143771, (9, 0))
VERSIONS = {"python": "3.12.4", "torch": "2.9.0", "cuda": "12.8", "transformers": "4.57.1", "accelerate": "1.12.0"}
STATE = "5c" * 32


def result(
    name: str = "matmul",
    status: Status = Status.PASS,
    *,
    group: str = "compute",
    seconds: float = 0.0,
    reused: bool = False,
    figures: Mapping[str, float] | None = None,
    **finding: Any,
) -> CheckResult:
    """One line of a report."""
    found = Finding(status, **{"summary": "the sum is right", **finding}, figures=figures or {})
    return CheckResult(name, group, name, Level.FULL, found, seconds, reused)


def host(gpus: int = 0, driver: str | None = None, **facts: Any) -> HostFacts:
    """A machine with some cards; with cards it has a driver."""
    known = driver or ("580.95.05" if gpus else None)
    return HostFacts("linux-64", **{"cpu_level": "x86_64_v3", "cpus": 16, **facts}, driver=known, gpus=(CARD,) * gpus)


def report(
    prefix: Path | str = "/envs/sft", day: float = 0.0, *results: CheckResult, gpus: int = 0, **fields: Any
) -> Report:
    """A whole full run on a day after the first."""
    values = {
        "level": Level.FULL,
        "seconds": 40.0,
        "host": host(gpus),
        "hostname": "gpu-01",
        "fingerprint": STATE,
        "versions": VERSIONS,
        "llmenv": "0.5.0",
        "ranks": (2, 4),
        **fields,
    }
    started = (START + dt.timedelta(days=day)).isoformat(timespec="seconds")
    return Report(prefix=str(prefix), started=started, results=results or (result(),), **values)


def store(folder: Path, told: list[Notice] | None = None, *, asked: str = "") -> Store:
    """A store with a folder of its own; ``asked`` as if somebody had named the folder."""
    return Store(HistoryFolder(folder, asked), (told if told is not None else []).append)


def environment(prefix: Path) -> Path:
    """A folder that conda would list."""
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta" / "history").touch()
    return prefix
