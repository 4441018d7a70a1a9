"""Keep reports and find them again. Nothing here may fail a run: what goes wrong is a notice."""

from __future__ import annotations

import datetime as dt
import errno
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from conda_llmenv.checks.moments import moment
from conda_llmenv.checks.verdict import proves
from conda_llmenv.errors import InputError
from conda_llmenv.history.files import publish, why
from conda_llmenv.history.places import HistoryFolder, history_folder
from conda_llmenv.history.report_file import (
    LARGEST,
    SHORT,
    as_kept,
    decode,
    encode,
    file_name,
    is_lock_name,
    lock_name,
    parse_name,
    stamp,
)
from conda_llmenv.model import Level, Notice, Report
from conda_llmenv.plain_files import read_owned, read_plain

INSIDE = Path("conda-meta", "llmenv", "reports")
"""Where an environment keeps the reports about itself."""

LARGEST_LOCK = 64 * 2**20
"""Bytes of the largest lockfile that is taken for one."""

KEPT_INSIDE = 50
"""Reports that an environment keeps, besides the last whole pass."""

MOST = 500
"""Files of one level that are looked at in one folder, the newest ones; the preflights of a thousand jobs a day do not
hide the pass of last week."""

_NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR)
"""Why the environment may keep none: it is somebody else's, or gone. The other folder has the report then."""

_TOLERANCE = dt.timedelta(days=1)
"""How far the clocks of machines may be apart; a report from later than that would be the newest for ever."""


class Kept(Struct, frozen=True):
    """A report with a file, its own or that of a lock, and the account that wrote this file."""

    path: Path
    report: Report
    owner: int


def default_store(
    environ: Mapping[str, str], configured: Path | None = None, tell: Callable[[Notice], None] = lambda _notice: None
) -> Store:
    """Return the store of a person; see :func:`conda_llmenv.history.places.history_folder`."""
    return Store(history_folder(environ, configured), tell)


def read_report(path: Path) -> Report:
    """Return the report in a file that somebody named; a link is followed.

    Raises:
        InputError: it holds none, or cannot be read.
    """
    try:
        return decode(read_plain(path, LARGEST))
    except (OSError, ValueError) as error:
        reason = why(error) if isinstance(error, OSError) else str(error)
        raise InputError(f"{path} is no report: {reason}", hint="`llmenv history --json` names their files") from error


class Store:
    """Reports in two places: in the environment they are about, and in one folder for all environments.

    Args:
        folder: the one for all environments.
        tell: called with a notice for each file or folder that is passed over in reading.
    """

    def __init__(self, folder: HistoryFolder, tell: Callable[[Notice], None] = lambda _notice: None) -> None:
        self._folder = folder
        self._tell = tell

    def keep(self, report: Report, lock: str = "") -> tuple[Notice, ...]:
        """Put a report on record in both places, and return what a person should know of what could not be written.

        Args:
            report: of a run.
            lock: text of a lockfile of the environment in that state, in the format of conda-lock; empty for none.
        """
        content = encode(report)
        files = {file_name(report, content): content}
        if lock and lock_name(report):
            files = {lock_name(report): lock.encode(), **files}
        return (*self._keep_inside(Path(report.prefix), files), *self._keep_in_folder(files))

    def lock_of(self, report: Report) -> Kept | None:
        """Return the lockfile that was kept of an environment in the state of a report, or None."""
        name = lock_name(report)
        for folder in (self._folder.path, Path(report.prefix) / INSIDE) if name else ():
            with suppress(OSError):
                return Kept(folder / name, report, read_owned(folder / name, LARGEST_LOCK)[1])
        return None

    def reports(
        self,
        prefix: Path | None = None,
        *,
        also: Iterable[Path] = (),
        fingerprint: str = "",
        trusted: bool = False,
    ) -> Iterator[Report]:
        """Yield reports, newest first; see :meth:`kept`."""
        for one in self.kept(prefix, also=also, fingerprint=fingerprint, trusted=trusted):
            yield one.report

    def kept(
        self,
        prefix: Path | None = None,
        *,
        also: Iterable[Path] = (),
        fingerprint: str = "",
        trusted: bool = False,
    ) -> Iterator[Kept]:
        """Yield reports with their files, newest first; what cannot be read is passed over with a notice.

        Args:
            prefix: those about this environment; about any where it is None.
            also: environments whose own reports are looked at as well.
            fingerprint: those about an environment in this state.
            trusted: those that this account, the environment's owner or root has written. Anybody who may write to a
                team's folder can put a pass there, so what a decision rests on has to be one of these.
        """
        places = [
            self._folder.path,
            *(place / INSIDE for place in dict.fromkeys((*((prefix,) if prefix else ()), *also))),
        ]
        for path in self._files(places, fingerprint):
            found = self._read(path)
            if found is None or (fingerprint and found.report.fingerprint != fingerprint):
                continue
            if prefix is not None and not _is_about(found.report, prefix):
                continue
            if not trusted or found.owner in _trusted(Path(found.report.prefix)):
                yield found

    def _keep_inside(self, prefix: Path, files: Mapping[str, bytes]) -> tuple[Notice, ...]:
        folder = prefix / INSIDE
        try:
            if not folder.parent.parent.is_dir():
                return ()
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                publish(folder / name, content)
            self._drop_old(folder)
        except OSError as error:
            return () if error.errno in _NOT_OURS else (_unkept(folder, why(error)),)
        return ()

    def _keep_in_folder(self, files: Mapping[str, bytes]) -> tuple[Notice, ...]:
        folder = self._folder
        try:
            if folder.asked:
                folder.path.mkdir(exist_ok=True)
            else:
                folder.path.parent.mkdir(parents=True, exist_ok=True)
                folder.path.mkdir(mode=0o700, exist_ok=True)
            for name, content in files.items():
                publish(folder.path / name, content)
        except OSError as error:
            return (_unkept(folder.path, why(error), folder.asked),)
        return ()

    def _drop_old(self, folder: Path) -> None:
        """Remove the oldest reports of an environment; the last whole pass stays, however long ago it was.

        Of the lockfiles the newest one stays.
        """
        names = _names(folder)
        old = names[KEPT_INSIDE:]
        last = next((name for name in names if self._is_whole_pass(folder / name)), None) if old else None
        locks = [path for path in folder.iterdir() if is_lock_name(path.name)]
        locks.sort(key=lambda path: path.stat().st_mtime_ns)
        for path in (*(folder / name for name in old if name != last), *locks[:-1]):
            with suppress(OSError):  # another process may have been faster
                path.unlink()

    def _is_whole_pass(self, path: Path) -> bool:
        named = parse_name(path.name)
        if named is None or Level[named.level.upper()] < Level.FULL:
            return False
        found = self._read(path)
        return found is not None and proves(found.report)

    def _files(self, folders: Iterable[Path], fingerprint: str) -> list[Path]:
        """Return the files in some folders by their names, newest first; one that is in several counts once."""
        found: dict[str, Path] = {}
        for folder in folders:
            for name in _newest_of_each_level(self._listed(folder), fingerprint[:SHORT]):
                found.setdefault(name, folder / name)
        return [found[name] for name in sorted(found, reverse=True)]

    def _listed(self, folder: Path) -> list[str]:
        try:
            return _names(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self._tell(Notice("history-unreadable", f"{folder} cannot be listed: {why(error)}"))
            return []

    def _read(self, path: Path) -> Kept | None:
        try:
            content, owner = read_owned(path, LARGEST)
            report = decode(content)
            _check_time(report, path.name)
        except FileNotFoundError:
            return None  # removed since it was listed
        except OSError as error:
            self._pass_over(path, why(error))
            return None
        except ValueError as error:
            self._pass_over(path, str(error))
            return None
        return Kept(path, report, owner)

    def _pass_over(self, path: Path, reason: str) -> None:
        self._tell(Notice("report-passed-over", f"{path} is passed over: {reason}"))


def _check_time(report: Report, name: str) -> None:
    """Refuse a report that would be sorted where it does not belong.

    Raises:
        ValueError: it would be.
    """
    if not name.startswith(stamp(report)):
        raise ValueError("its name gives another time than it holds")
    if moment(report.started) > dt.datetime.now(dt.timezone.utc) + _TOLERANCE:
        raise ValueError("it is dated in the future")


def _names(folder: Path) -> list[str]:
    """Return the names of reports in a folder, newest first."""
    return sorted((path.name for path in folder.iterdir() if parse_name(path.name)), reverse=True)


def _newest_of_each_level(names: Iterable[str], fingerprint: str) -> Iterator[str]:
    """Yield those of some names, newest first, that are looked at.

    Args:
        names: of reports, newest first.
        fingerprint: its first digits, where only those about one state are wanted.
    """
    counts: Counter[str] = Counter()
    for name in names:
        named = parse_name(name)
        if named is None or (fingerprint and named.fingerprint != fingerprint):
            continue
        counts[named.level] += 1
        if counts[named.level] <= MOST:
            yield name


def _is_about(report: Report, prefix: Path) -> bool:
    return report.prefix in {as_kept(str(prefix)), as_kept(os.path.realpath(prefix))}


def _trusted(prefix: Path) -> set[int]:
    """Return the accounts that may say of an environment what they like: they could change it, too."""
    accounts = {os.geteuid(), 0}
    with suppress(OSError):
        accounts.add(prefix.stat().st_uid)
    return accounts


def _unkept(folder: Path, reason: str, asked: str = "") -> Notice:
    by = f", which {asked} names" if asked else ""
    return Notice(
        "report-unkept",
        f"the report is not kept in {folder}{by}: {reason}",
        hint="see that the folder is there, that you may write to it and that its disk has room",
    )
