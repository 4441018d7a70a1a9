"""Remove environments, and settle what crashes left behind, one prefix at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conda_llmenv.errors import NotFoundError, PrefixRefused
from conda_llmenv.model import Notice
from conda_llmenv.prefix.durable import disk_errors
from conda_llmenv.prefix.environments import unregister
from conda_llmenv.prefix.journal import Workplace
from conda_llmenv.prefix.location import is_environment
from conda_llmenv.prefix.lock import DEFAULT_TIMEOUT, FolderLock
from conda_llmenv.prefix.protection import check_unprotected
from conda_llmenv.prefix.recovery import discard, recover_locked, remove_parents


def remove(
    prefix: Path,
    *,
    active: Path | None = None,
    force: bool = False,
    registry: Path | None = None,
    lock_timeout: float = DEFAULT_TIMEOUT,
    on_wait: Callable[[str], None] | None = None,
) -> tuple[Notice, ...]:
    """Remove an environment so that a crash leaves it whole or gone.

    Args:
        prefix: absolute path of the environment.
        active: the environment that is active in the calling shell, which is refused.
        force: the caller vouches that an unfinished change by a process on another host is dead.
        registry: conda's ``environments.txt`` to take it off, or None.
        lock_timeout: seconds to wait for another process that works on the prefix.
        on_wait: called once with a sentence if there is one.

    Raises:
        NotFoundError: there is no environment.
        LockBusy: a process works on it, or one on another host may.
        PrefixRefused: it is active, frozen, conda's own, a link or a mount point.
        PrefixError: the disk refused.
    """
    work = Workplace(prefix)
    if not is_environment(prefix) and not work.folder.exists():
        raise NotFoundError(
            f"there is no environment at {prefix}", hint="llmenv list shows the environments known here"
        )
    if active is not None and prefix.exists() and active.exists() and prefix.samefile(active):
        raise PrefixRefused(f"{prefix} is the active environment", hint="conda deactivate, then remove it")
    with disk_errors("remove", prefix):
        with FolderLock(work.lock, what=str(prefix), timeout=lock_timeout, on_wait=on_wait):
            parents = recover_locked(work, assume_dead=force)
            if is_environment(prefix):
                check_unprotected(prefix, "removed")
                discard(work)
        remove_parents(parents)
    return unregister(prefix, registry) if registry is not None else ()


def recover(
    prefix: Path,
    *,
    assume_dead: bool = False,
    lock_timeout: float = DEFAULT_TIMEOUT,
    on_wait: Callable[[str], None] | None = None,
) -> bool:
    """Finish or undo what an earlier call left unfinished at ``prefix``; return whether there was anything.

    Raises:
        LockBusy: its owner is alive, or on another host and may be.
        PrefixError: what is there cannot be understood, or the disk refused.
    """
    work = Workplace(prefix)
    if not work.folder.exists() and not work.lock.exists() and not is_environment(prefix):
        return False
    before = (work.folder.exists(), is_environment(prefix))
    with disk_errors("recover", prefix):
        with FolderLock(work.lock, what=str(prefix), timeout=lock_timeout, on_wait=on_wait):
            parents = recover_locked(work, assume_dead=assume_dead)
        remove_parents(parents)
    return before != (work.folder.exists(), is_environment(prefix))
