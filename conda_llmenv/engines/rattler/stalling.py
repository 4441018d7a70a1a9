"""Ends work on the network that gets nowhere: the library itself waits for a silent server as long as that likes.

Its clients know only a limit for a whole request, which would also end a big download over a slow line. So what arrives
is watched from outside, in the way of curl's ``--speed-limit``: a server that sends nothing, or next to nothing, is
given up after the configured read timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from conda_llmenv.errors import ChannelUnavailable, InstallFailed, LlmenvError
from conda_llmenv.model import SolveRequest
from conda_llmenv.redact import mask

SLOWEST = 1024
"""Bytes a second below which nothing useful will come of a transfer."""

BUSY = 0.1
"""Share of a processor above which a solve is at work, whatever arrives."""

SHARD = 4096
"""What one shard counts, in bytes; few are smaller."""

POLL_SECONDS = 0.1
"""How often running work is asked about."""

T = TypeVar("T")


class Pace:
    """Tells whether a growing amount has stopped growing.

    Args:
        seconds: how long it may hardly grow; 0 for as long as it likes.
        least: what it has to grow by in a second.
    """

    def __init__(self, seconds: float, least: float) -> None:
        self.seconds = seconds
        self._least = least
        self._seen: deque[tuple[float, float]] = deque()

    def stalled(self, amount: float) -> bool:
        """Take the amount of now, and return whether it hardly grew in all the time allowed."""
        now = time.monotonic()
        self._seen.append((now, amount))
        while len(self._seen) > 1 and self._seen[1][0] <= now - self.seconds:
            self._seen.popleft()
        start, before = self._seen[0]
        elapsed = now - start
        return 0 < self.seconds <= elapsed and abs(amount - before) < self._least * elapsed

    def restart(self) -> None:
        """Forget what was seen: time in which nothing was to be expected does not count."""
        self._seen.clear()


class _Fetching:
    """Watches a solve, which says nothing about its downloads: what its cache folder grows by, and how busy it is.

    Args:
        cache: the repodata cache, into which the library streams what it downloads.
        seconds: how long hardly anything may arrive.
    """

    def __init__(self, cache: Path | None, seconds: float) -> None:
        self._cache = cache
        self._interval = min(1.0, seconds / 20)
        self._next = 0.0
        self._arriving = Pace(seconds if cache else 0, SLOWEST)
        self._working = Pace(seconds, BUSY)

    def stalled(self) -> bool:
        """Return whether neither anything arrives nor anything is computed; looks at most once a second."""
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + self._interval
        quiet = self._arriving.stalled(_arrived(self._cache) if self._cache else 0)
        idle = self._working.stalled(time.process_time())
        return quiet and idle


def _arrived(folder: Path) -> int:
    """Return about how many bytes a repodata cache holds.

    Lists of packages stream into files of the folder itself. Shards come whole, by the thousand, into folders below:
    these are counted, not measured. What is not there yet, or goes away meanwhile, counts nothing.
    """
    total = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):
                total += sum(SHARD for _ in os.scandir(entry.path)) if entry.is_dir() else entry.stat().st_size
    return total


def silence(request: SolveRequest, seconds: float) -> Callable[[], ChannelUnavailable | None]:
    """Return what to ask time and again while a solve fetches: why it should be given up, or None.

    Args:
        request: what is solved.
        seconds: how long hardly anything may arrive; 0 for as long as it likes.
    """
    watch = _Fetching(request.repodata_cache, seconds)
    return lambda: _silent_channels(request, seconds) if watch.stalled() else None


def _silent_channels(request: SolveRequest, seconds: float) -> ChannelUnavailable:
    """Return the failure of channels from which hardly anything came for so many seconds."""
    remote = [channel for channel in request.channels if not channel.url.startswith("file:")]
    names = ", ".join(mask(channel.name) for channel in remote)
    which = f"channel {names} does" if len(remote) == 1 else f"one of the channels {names} does"
    return ChannelUnavailable(
        f"{which} not answer: next to nothing has come for {seconds:g} s",
        channel=mask(remote[0].name) if len(remote) == 1 else "",
        details=[f"address  {mask(channel.url)}" for channel in remote],
        hint="try again; where the network is that slow, raise remote_read_timeout_secs in .condarc",
    )


def silent_downloads(names: Sequence[str], seconds: float) -> InstallFailed:
    """Return the failure of downloads of which hardly anything came for so many seconds."""
    return InstallFailed(
        f"{', '.join(names[:3])} stopped arriving: next to nothing has come for {seconds:g} s",
        hint="run the same command again, what has arrived is kept; where the network is that slow, raise "
        "remote_read_timeout_secs in .condarc",
    )


async def unless(work: Coroutine[Any, Any, T], reason: Callable[[], LlmenvError | None]) -> T:
    """Await the work, and end it with an error as soon as there is a reason to.

    Args:
        work: what is awaited.
        reason: asked time and again; returns None for as long as the work should go on.
    """
    main = asyncio.current_task()
    found: list[LlmenvError] = []
    # The watcher is the task beside, not the work: an interruption belongs to the main task, which asyncio.run awaits.
    watcher = asyncio.ensure_future(_cancel_for(reason, found, main))
    try:
        return await work
    except asyncio.CancelledError:
        if found:
            raise found[0] from None
        raise
    finally:
        watcher.cancel()


async def _cancel_for(
    reason: Callable[[], LlmenvError | None], found: list[LlmenvError], task: asyncio.Task[Any] | None
) -> None:
    while (error := reason()) is None:  # noqa: ASYNC110 - what is asked changes in other threads
        await asyncio.sleep(POLL_SECONDS)
    found.append(error)
    if task is not None:
        task.cancel()
