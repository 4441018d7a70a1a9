"""Turns the installer's callbacks (from many threads) into the two stages a person watches: download and link."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType

from rattler import InstallerReporter

from conda_llmenv.model import Record
from conda_llmenv.ports import Reporter


class InstallProgress(InstallerReporter):
    """Counts downloaded bytes and linked packages; also a context that closes both stages.

    The library swallows exceptions of callbacks, so none of them can fail for a reason worth hearing.
    """

    def __init__(self, records: Sequence[Record], reporter: Reporter) -> None:
        self._reporter = reporter
        self._lock = threading.Lock()
        self._records = {record.name: record for record in records}
        self._bytes: dict[int, int] = {}
        self._linked = 0
        self._downloading = False

    def __enter__(self) -> InstallProgress:
        self._reporter.start("link", len(self._records))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._downloading:
            self._reporter.finish("download")
        self._reporter.finish("link")

    def on_download_start(self, cache_entry: int) -> int:
        """One more package has to be fetched."""
        with self._lock:
            if not self._downloading:
                self._downloading = True
                self._reporter.start("download")
        return cache_entry

    def on_download_progress(self, download_idx: int, progress: int, total: int | None) -> None:
        """``progress`` bytes of one package are here."""
        with self._lock:
            self._bytes[download_idx] = progress
            self._reporter.advance("download", sum(self._bytes.values()))

    def on_link_complete(self, index: int) -> None:
        """One more package is in the prefix."""
        with self._lock:
            self._linked += 1
            self._reporter.advance("link", self._linked, len(self._records))
