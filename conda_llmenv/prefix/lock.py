"""Locks with a time limit and the holder's name: one for each prefix, one for a package cache that several runs share.

A local file system gets a native lock, which the kernel frees when its holder dies. A network file system gets
filelock's strict soft lock, the only one of them that keeps clients of NFS apart; a dead holder's claim is taken away
only when this machine can prove the death.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from filelock import FileLock, SoftFileLockProtocolError, Timeout

from conda_llmenv.errors import LockBusy, PrefixError
from conda_llmenv.model import Owner
from conda_llmenv.prefix import owner as owners
from conda_llmenv.prefix.durable import explain
from conda_llmenv.prefix.mounts import is_network

if TYPE_CHECKING:
    from filelock import StrictSoftFileLock

DEFAULT_TIMEOUT = 300.0
"""Seconds to wait for another process before giving up."""

_PATIENCE = 0.2
_POLL = 0.05


class FolderLock:
    """An exclusive lock on a file, held from entering to leaving the ``with`` block.

    Args:
        path: the lock file; its folder must exist and be writable.
        what: what it guards, for messages: ``/envs/sft`` or ``the package cache /…/pkgs``.
        timeout: seconds to wait for another holder; 0 does not wait.
        on_wait: called once with ``waiting for …`` when somebody else holds the lock.
        soft: force the lock for network file systems (True) or the native one (False); None looks at the file system.

    Raises (on entering):
        LockBusy: the holder did not finish in time; the message names host, pid and since when.
        PrefixError: the file system refused the lock.
    """

    def __init__(
        self,
        path: Path,
        *,
        what: str,
        timeout: float = DEFAULT_TIMEOUT,
        on_wait: Callable[[str], None] | None = None,
        soft: bool | None = None,
    ) -> None:
        self.path = path
        self._what = what
        self._timeout = timeout
        self._on_wait = on_wait
        self._soft = is_network(path.parent) if soft is None else soft
        self._lock = _strict(path) if self._soft else FileLock(path, mode=0o600, fallback_to_soft=False)

    @property
    def _holder_file(self) -> Path:
        """Where the holder signs; a strict lock's own file has a fixed content."""
        return self.path.with_name(f"{self.path.name}.holder") if self._soft else self.path

    def __enter__(self) -> FolderLock:
        """Take the lock."""
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the lock."""
        self.release()

    def acquire(self) -> None:
        """Take the lock, waiting for another holder as long as the time limit allows."""
        if not self._soft:
            self._try_the_place()
        deadline = time.monotonic() + self._timeout
        if not self._attempt(min(_PATIENCE, self._timeout)):
            if self._on_wait is not None:
                self._on_wait(f"waiting for {self._holder_text()}, at work on {self._what}")
            if self._soft:
                self._clear_dead_claims()
            if not self._attempt(max(0.0, deadline - time.monotonic())):
                raise self._busy()
        self._sign()

    def _try_the_place(self) -> None:
        """Find out at once that no file can be made there: filelock would take that for somebody else's lock."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise explain(error, "lock", self.path) from error

    def release(self) -> None:
        """Free the lock, if it is held, and leave no file behind where that cannot split those who wait for it."""
        if not self._lock.is_locked:
            return
        with suppress(OSError):
            # A native lock is taken only on a file that still has its name, so a waiter on this one starts over.
            self._holder_file.unlink()
        self._lock.release()

    def holder(self) -> tuple[Owner, str] | None:
        """Return who signed the lock and since when (ISO 8601, UTC), or None if nobody did."""
        try:
            data = json.loads(self._holder_file.read_bytes())
            return owners.from_json(data["owner"]), str(data["since"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def _attempt(self, seconds: float) -> bool:
        try:
            self._lock.acquire(timeout=seconds, poll_interval=_POLL)
        except Timeout:
            return False
        except SoftFileLockProtocolError as error:
            raise PrefixError(
                f"the lock of {self._what} is damaged: {error}",
                hint=f"if no llmenv is at work there, remove {self.path} and {self.path}.filelock",
            ) from error
        except OSError as error:
            raise explain(error, "lock", self.path) from error
        return True

    def _sign(self) -> None:
        """Say who holds the lock; a disk that is full takes the signature, not the lock."""
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = json.dumps({"owner": owners.to_json(owners.current()), "since": since})
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(OSError):
            descriptor = os.open(self._holder_file, flags, 0o600)
            with contextlib.closing(os.fdopen(descriptor, "w")) as stream:
                stream.write(text)

    def _clear_dead_claims(self) -> None:
        """Take away the claim of a holder that signed and is proven dead on this machine, in this boot."""
        held = self.holder()
        if held is None:
            return
        owner = held[0]
        if owner.boot_id != owners.current().boot_id or owners.is_alive(owner) is not False:
            return
        with suppress(OSError):
            lock = _strict(self.path)
            for claim in lock.claims:
                if claim.pid == owner.pid and claim.hostname == owner.host:
                    lock.force_break(claim.name)

    def _holder_text(self) -> str:
        held = self.holder()
        return "another process" if held is None else f"{owners.describe(held[0])} (since {held[1]})"

    def _busy(self) -> LockBusy:
        hint = "wait for it to finish, or end it"
        if self._soft:
            hint = f"{hint}; if it is gone for certain, remove {self.path} and {self.path}.filelock"
        return LockBusy(
            f"{self._what} is busy: {self._holder_text()} did not finish within {self._timeout:g} s", hint=hint
        )


def _strict(path: Path) -> StrictSoftFileLock:
    from filelock import StrictSoftFileLock  # 25 ms that a local file system saves

    return StrictSoftFileLock(path, mode=0o600)
