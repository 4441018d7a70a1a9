"""Turns the installer's callbacks (from many threads) into the two stages a person watches: download and link."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from rattler import InstallerReporter

from conda_llmenv.engines.leaving import all_asleep, wait_for_threads
from conda_llmenv.model import InstallRequest, Record
from conda_llmenv.ports import Reporter

IDLE_SECONDS = 1.0
"""After a failure, linking counts as over when for so long no package was finished and no thread wanted to run."""

STARVED = 3
"""Looks in a row at which a thread wants to run, and does not get to: on a crowded machine that is no idleness."""

SETTLE_SECONDS = 20.0
"""The longest wait for linking to be over."""


class InstallProgress(InstallerReporter):
    """Counts downloaded bytes and linked packages, and knows what the library's threads are still at.

    The library swallows exceptions of callbacks. When an installation fails or is interrupted, links that have begun go
    on in threads nobody can stop; :meth:`settle` waits for them, so that nothing is written into a prefix that is being
    taken back.

    Args:
        request: what is being installed.
        fetched: those of its records that have to be downloaded.
        reporter: who is told.
    """

    def __init__(self, request: InstallRequest, fetched: Sequence[Record], reporter: Reporter) -> None:
        self._reporter = reporter
        self._lock = threading.Lock()
        self._records = {record.name: record for record in request.records}
        self._to_download = sum(record.size or 0 for record in fetched) or None
        self._bytes: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._arriving: set[int] = set()
        self._linking: dict[int, str] = {}
        self._linked = 0
        self._downloading = False

    def start(self) -> None:
        """Announce the stages; downloading is announced when it begins."""
        self._reporter.start("link", len(self._records))

    def finish(self) -> None:
        """Close the stages."""
        if self._downloading:
            self._reporter.finish("download")
        self._reporter.finish("link")

    def on_download_start(self, cache_entry: int) -> int:
        """One more package has to be fetched."""
        with self._lock:
            self._arriving.add(cache_entry)
            if not self._downloading:
                self._downloading = True
                self._reporter.start("download", self._to_download)
        return cache_entry

    def on_populate_cache_start(self, operation: int, package_name: str) -> int:
        """Name the operation: its number comes back with each call about this package."""
        with self._lock:
            self._names[operation] = package_name
        return operation

    def on_download_progress(self, download_idx: int, progress: int, total: int | None) -> None:
        """``progress`` bytes of one package are here."""
        with self._lock:
            self._bytes[download_idx] = progress
            if progress == total:
                self._arriving.discard(download_idx)
            self._reporter.advance("download", sum(self._bytes.values()), self._to_download)

    def on_download_completed(self, download_idx: int) -> None:
        """All of one package is here."""
        with self._lock:
            self._arriving.discard(download_idx)

    def received(self) -> int:
        """Return how many bytes are here of all packages."""
        with self._lock:
            return sum(self._bytes.values())

    def arriving(self) -> list[str]:
        """Return the packages whose downloads have begun and not ended, by name."""
        with self._lock:
            return sorted(self._names.get(index, "a package") for index in self._arriving)

    def on_link_start(self, operation: int, package_name: str) -> int:
        """Linking of a package is handed to a thread."""
        with self._lock:
            self._linking[operation] = package_name
        return operation

    def on_link_complete(self, index: int) -> None:
        """One more package is in the prefix."""
        with self._lock:
            self._linking.pop(index, None)
            self._linked += 1
            self._reporter.advance("link", self._linked, len(self._records))

    def settle(self, prefix: Path) -> None:
        """Wait until no thread links into the prefix any more; each writes its record last."""
        started = seen = time.monotonic()
        waiting, busy, awake = self._unfinished(prefix), time.process_time(), 0
        while waiting and time.monotonic() - seen < IDLE_SECONDS and time.monotonic() - started < SETTLE_SECONDS:
            time.sleep(0.02)
            now, used = self._unfinished(prefix), time.process_time()
            awake = 0 if all_asleep() else awake + 1
            if now != waiting or used - busy > 0.1 * IDLE_SECONDS or awake >= STARVED:
                waiting, busy, seen = now, used, time.monotonic()
        wait_for_threads()  # what was queued when the call ended may begin only now, without a word to us

    def _unfinished(self, prefix: Path) -> frozenset[str]:
        with self._lock:
            names = frozenset(self._linking.values())
        return frozenset(name for name in names if not self._record_path(prefix, name).exists())

    def _record_path(self, prefix: Path, name: str) -> Path:
        record = self._records[name]
        return prefix / "conda-meta" / f"{name}-{record.version}-{record.build}.json"
