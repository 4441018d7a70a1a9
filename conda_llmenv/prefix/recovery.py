"""Finish or undo a change that did not come to its end, from what lies on the disk alone.

What is where decides, not what the journal thinks was done last:

* the new environment says ``created`` with the token of the change: the change is done, only deletion is left;
* the old environment is in the work folder otherwise: the new one is deleted and the old one put back;
* neither: nothing of the old was touched; a half-made new prefix is deleted.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from conda_llmenv.errors import LockBusy, PrefixError
from conda_llmenv.model import EnvState, Owner, Phase
from conda_llmenv.plain_files import flush
from conda_llmenv.prefix import owner as owners
from conda_llmenv.prefix.durable import remove_tree
from conda_llmenv.prefix.journal import Entry, Workplace
from conda_llmenv.prefix.state import FOLDER, read_state
from conda_llmenv.unlisted import HISTORY

TRANSACTION = "transaction"
"""The key among a state's facts that names the change which made the environment."""


def recover_locked(work: Workplace, *, assume_dead: bool = False) -> tuple[Path, ...]:
    """Finish or undo what is left of an earlier change; the caller holds the lock of the prefix.

    Args:
        work: the places beside the prefix.
        assume_dead: somebody vouches that the owner of the change, which cannot be judged from here, is gone.

    Returns:
        Folders that were made for a prefix that is no more; to be removed, if empty, once the lock is free.

    Raises:
        LockBusy: the owner is alive, or runs on another host and may be alive.
        PrefixError: what is there cannot be understood; nothing was touched.
        OSError: the disk refused; the next call tries again.
    """
    entry = work.read()
    if entry is None:
        _drop_bare_folder(work)
        _drop_abandoned(work, assume_dead=assume_dead)
        return ()
    _require_dead(entry.owner, work.prefix, assume_dead=assume_dead)
    return settle(work, entry)


def settle(work: Workplace, entry: Entry) -> tuple[Path, ...]:
    """Complete the change if its environment is whole, else take it back; as :func:`recover_locked`."""
    if entry.kind == "remove" or _is_done(work.prefix, entry.token):
        if os.path.lexists(work.old):
            work.doom(work.old)
        work.close()
        return ()
    return undo(work, entry)


def undo(work: Workplace, entry: Entry) -> tuple[Path, ...]:
    """Take a creation or replacement back; needs no room on the disk. As :func:`recover_locked`."""
    replaced = os.path.lexists(work.old)
    if (replaced or entry.kind == "create") and os.path.lexists(work.prefix):
        _discard_begun(work, entry, needed=replaced)
    if replaced:
        work.old.rename(work.prefix)
        flush(work.prefix.parent)
    work.close()
    return entry.made_parents


def discard(work: Workplace) -> None:
    """Remove an environment: out of sight in one step, then deleted; the caller holds the lock.

    Raises:
        OSError: it cannot be moved; it is as before.
    """
    work.open(Entry("remove", secrets.token_hex(8), owners.current()))
    try:
        work.doom(work.prefix)
    finally:
        work.close()


def remove_parents(folders: tuple[Path, ...]) -> None:
    """Remove folders that were made for a prefix, innermost first, as far as they are empty."""
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


def _drop_bare_folder(work: Workplace) -> None:
    """Remove a work folder whose change ended before its journal was written, or after it was removed."""
    if os.path.lexists(work.old):
        raise PrefixError(
            f"{work.folder} has lost its journal, and {work.old} may be an environment",
            hint=f"move it back to {work.prefix} or delete it, then remove {work.folder}",
        )
    if work.folder.exists():
        remove_tree(work.folder)


def _drop_abandoned(work: Workplace, *, assume_dead: bool) -> None:
    """Remove a prefix that says ``creating`` although nobody is at work on it."""
    state = _state_or_none(work.prefix)
    if state is None or state.phase is not Phase.CREATING:
        return
    if state.owner is not None:
        _require_dead(state.owner, work.prefix, assume_dead=assume_dead)
    discard(work)


def _require_dead(owner: Owner, prefix: Path, *, assume_dead: bool) -> None:
    if owner == owners.current():
        return  # this very process failed to clean up after itself, and now holds the lock again
    alive = owners.is_alive(owner)
    if alive:
        raise LockBusy(
            f"{prefix} is busy: {owners.describe(owner)} is at work on it", hint="wait for it to finish, or end it"
        )
    if alive is None and not assume_dead:
        raise LockBusy(
            f"{prefix} was left unfinished by {owners.describe(owner)}, which this machine cannot see",
            hint=f"if it is gone for certain: llmenv remove --force -p {prefix}",
        )


def _is_done(prefix: Path, token: str) -> bool:
    state = _state_or_none(prefix)
    return state is not None and state.phase is not Phase.CREATING and state.facts.get(TRANSACTION) == token


def _discard_begun(work: Workplace, entry: Entry, *, needed: bool) -> None:
    """Delete what the change put at the prefix; what somebody else put there since is never touched."""
    if not _is_ours(work.prefix, entry.token):
        if needed:
            raise PrefixError(
                f"{work.prefix} was made by somebody else while the environment of that name waited in {work.old}",
                hint=f"move {work.prefix} away; the next llmenv call puts the environment back",
            )
        return
    if entry.folder_existed:
        _empty(work.prefix)
    else:
        work.doom(work.prefix)


def _is_ours(prefix: Path, token: str) -> bool:
    state = _state_or_none(prefix)
    if state is not None:
        return state.facts.get(TRANSACTION) == token
    ours = prefix / FOLDER
    return all(Path(folder).is_relative_to(ours) or not files for folder, _, files in os.walk(prefix))


def _empty(folder: Path) -> None:
    """Remove what is in a folder that has to stay; its marker goes last, so that a crash leaves it marked."""
    with suppress(FileNotFoundError):
        (folder / HISTORY).unlink()
    for entry in sorted(folder.iterdir(), key=lambda path: path.name == FOLDER.parts[0]):
        remove_tree(entry)


def _state_or_none(prefix: Path) -> EnvState | None:
    try:
        return read_state(prefix)
    except PrefixError:
        return None
