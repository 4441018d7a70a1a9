"""All-or-nothing creation and replacement of an environment at its final path, whatever ends the process.

The steps, each of which may be the last one before a crash:

1. lock; settle what an earlier crash left;
2. work folder with the journal, beside the prefix;
3. an environment that is to be replaced moves into the work folder (one rename);
4. the prefix is made, with state ``creating``;
5. *the caller installs*;
6. variables and spec, then conda's history, then state ``created``: from here the change is done;
7. the old environment and the work folder are deleted.

Before 6, :mod:`conda_llmenv.prefix.recovery` takes everything back; after it, it only deletes.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec import structs

from conda_llmenv import __version__
from conda_llmenv.errors import Interrupted, LlmenvError, PrefixError
from conda_llmenv.model import EnvState, Notice, Phase
from conda_llmenv.plain_files import flush
from conda_llmenv.prefix import owner as owners
from conda_llmenv.prefix.durable import disk_errors, explain
from conda_llmenv.prefix.environments import register
from conda_llmenv.prefix.history import write_history
from conda_llmenv.prefix.inspect import installed
from conda_llmenv.prefix.journal import Entry, Workplace
from conda_llmenv.prefix.location import check_occupant, is_environment
from conda_llmenv.prefix.lock import DEFAULT_TIMEOUT, FolderLock
from conda_llmenv.prefix.protection import check_unprotected
from conda_llmenv.prefix.recovery import TRANSACTION, recover_locked, remove_parents, settle, undo
from conda_llmenv.prefix.signals import SignalGuard, deliver
from conda_llmenv.prefix.state import FOLDER, write_spec, write_state
from conda_llmenv.prefix.variables import write_variables
from conda_llmenv.unlisted import withhold_history


class PrefixTransaction:
    """One creation or replacement of an environment, used as a context manager.

    Entering makes the prefix, empty but for its state ``creating``. Leaving the block without :meth:`commit`, by an
    exception or by SIGINT, SIGTERM or SIGHUP, takes everything back.

    Args:
        prefix: absolute path.
        replace: an environment that is there may be replaced; it comes back if this one fails.
        keep: leave a new environment that failed, in state ``failed`` with the reason (never in place of an old one).
        lock_timeout: seconds to wait for another process that works on the prefix.
        on_wait: called once with a sentence if there is one.
        registry: conda's ``environments.txt`` to add the environment to, or None.

    Attributes:
        prefix: where to install.

    Raises (on entering):
        LockBusy: another process works on it, or one on another host may.
        PrefixError: it is an environment and may not be replaced, or something else is in the way.
        NoSpace: the disk is full.

    Raises (on leaving):
        Interrupted: a signal ended the block.
    """

    def __init__(
        self,
        prefix: Path,
        *,
        replace: bool = False,
        keep: bool = False,
        lock_timeout: float = DEFAULT_TIMEOUT,
        on_wait: Callable[[str], None] | None = None,
        registry: Path | None = None,
    ) -> None:
        self.prefix = prefix
        self._replace = replace
        self._keep = keep
        self._registry = registry
        self._work = Workplace(prefix)
        self._lock = FolderLock(self._work.lock, what=str(prefix), timeout=lock_timeout, on_wait=on_wait)
        self._entry: Entry | None = None
        self._made_parents: tuple[Path, ...] = ()
        self._committed = False
        self._guard = SignalGuard(PrefixTransaction.__exit__, PrefixTransaction.commit)

    @property
    def replaces(self) -> bool:
        """Whether an environment that was there is replaced; known once the transaction has begun."""
        return self._entry is not None and self._entry.kind == "replace"

    def __enter__(self) -> PrefixTransaction:
        """Lock, settle leftovers, write the journal and make the prefix."""
        self._guard.install()
        try:
            with disk_errors("prepare", self.prefix):
                self._begin()
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take everything back unless it is committed; free the lock. Signals wait until this is done."""
        orphans: tuple[Path, ...] = self._made_parents if self._entry is None else ()
        failure: LlmenvError | None = None
        try:
            orphans = self._settle(error) or orphans
        except (OSError, LlmenvError) as problem:
            failure = _unsettled(problem, self.prefix)
        finally:
            self._lock.release()
            remove_parents(orphans)
            kept = self._guard.restore()
        self._report(error, failure, kept)

    def set_variables(self, variables: Mapping[str, str | None]) -> None:
        """Write what activation sets, so that an environment that is kept after a failure has it.

        Raises:
            InputError: a variable would not survive activation.
            PrefixError, NoSpace: the file cannot be written.
        """
        with disk_errors("write the variables of", self.prefix):
            write_variables(self.prefix, variables)

    def commit(
        self,
        *,
        spec: Mapping[str, Any],
        state: EnvState,
        variables: Mapping[str, str | None],
        history_specs: Sequence[str] = (),
        command: str = "llmenv create",
    ) -> tuple[Notice, ...]:
        """Record what was made and why; from the last write on, the environment exists.

        Args:
            spec: JSON-ready description of what was asked for; secrets in its addresses are stripped.
            state: its phase must say that the work is done.
            variables: what activation sets; None takes one away.
            history_specs: MatchSpecs for conda's history.
            command: the command line for conda's history.

        Returns:
            What a person should know, such as that conda's list of environments cannot be written.

        Raises:
            InputError: a variable would not survive activation.
            PrefixError, NoSpace: a file cannot be written.
        """
        if self._entry is None or state.phase is Phase.CREATING:
            raise ValueError("commit needs a transaction that has begun and a state that says it is done")
        with disk_errors("write the records of", self.prefix):
            write_variables(self.prefix, variables)
            write_spec(self.prefix, spec)
            write_history(self.prefix, installed(self.prefix), history_specs, command)
            write_state(self.prefix, _signed(state, self._entry))
        self._committed = True
        return register(self.prefix, self._registry) if self._registry is not None else ()

    def _begin(self) -> None:
        self._made_parents = _make_parents(self.prefix.parent)
        self._lock.acquire()
        recover_locked(self._work)
        replaced = self._check_replaceable()
        self._entry = Entry(
            kind="replace" if replaced else "create",
            token=secrets.token_hex(8),
            owner=owners.current(),
            folder_existed=not replaced and self.prefix.is_dir(),
            made_parents=self._made_parents,
        )
        self._work.open(self._entry)
        if replaced:
            self.prefix.rename(self._work.old)
        self.prefix.mkdir(exist_ok=self._entry.folder_existed)
        (self.prefix / FOLDER).mkdir(parents=True)
        flush(self.prefix.parent)
        write_state(self.prefix, _creating(self._entry))
        withhold_history(self.prefix)

    def _check_replaceable(self) -> bool:
        """Return whether an environment is there and may be replaced."""
        check_occupant(self.prefix)
        if not is_environment(self.prefix):
            return False
        if not self._replace:
            raise PrefixError(
                f"{self.prefix} is an environment already", hint="confirm with -y that it is to be replaced"
            )
        check_unprotected(self.prefix, "replaced")
        return True

    def _settle(self, error: BaseException | None) -> tuple[Path, ...]:
        if self._entry is None:
            return ()
        if not self._committed and not self._keep_failed(self._entry, error):
            return undo(self._work, self._entry)
        return settle(self._work, self._entry)

    def _keep_failed(self, entry: Entry, error: BaseException | None) -> bool:
        """Mark a failed new environment instead of deleting it; without room for the mark, do not."""
        if not self._keep or entry.kind == "replace" or not (self.prefix / FOLDER).is_dir():
            return False
        reason = error.message if isinstance(error, LlmenvError) else type(error).__name__ if error else "not finished"
        state = structs.replace(_creating(entry), phase=Phase.FAILED, reason=reason)
        with suppress(OSError):
            write_state(self.prefix, _signed(state, entry))
            return True
        return False

    def _report(self, error: BaseException | None, failure: LlmenvError | None, kept: int | None) -> None:
        if isinstance(error, KeyboardInterrupt) or self._guard.received is not None:
            raise Interrupted(self._guard.received or 2) from (failure or error)
        if failure is not None:
            raise failure from error
        if error is None and not self._committed:
            raise PrefixError(f"the environment at {self.prefix} was not finished")
        if kept is not None:
            deliver(kept)


def _creating(entry: Entry) -> EnvState:
    now = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
    facts = {TRANSACTION: entry.token}
    return EnvState(Phase.CREATING, created=now, owner=entry.owner, llmenv=__version__, facts=facts)


def _signed(state: EnvState, entry: Entry) -> EnvState:
    """Return a final state with the token by which recovery knows that this change is done."""
    return structs.replace(state, owner=None, facts={**state.facts, TRANSACTION: entry.token})


def _make_parents(folder: Path) -> tuple[Path, ...]:
    """Make the missing folders above a prefix; return them, outermost first."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    made = []
    for place in reversed(missing):
        with suppress(FileExistsError):
            place.mkdir()
            made.append(place)
    return tuple(made)


def _unsettled(problem: OSError | LlmenvError, prefix: Path) -> LlmenvError:
    if isinstance(problem, LlmenvError):
        return problem
    failure = explain(problem, "put back what was at", prefix)
    failure.details = (*failure.details, "the next llmenv call for this prefix tries again")
    return failure
