"""Packages in conda's caches: what may be used as it is, and how the rest is fetched and verified.

conda takes a cached package by name, size and MD5, does not verify archives on a ``file://`` channel, and gives up
when a download breaks off. Here a package counts as cached only if it is whole and its sha256 is known to be the one
asked for, and every archive is verified.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conda.base.context import context
from conda.core.package_cache_data import PackageCacheData, ProgressiveFetchExtract
from conda.core.path_actions import CacheUrlAction
from conda.exceptions import ChecksumMismatchError
from conda.gateways.disk.create import write_as_json_to_file
from conda.gateways.disk.read import read_index_json, read_repodata_json
from conda.models.records import PackageRecord
from msgspec import Struct
from requests.exceptions import ChunkedEncodingError  # type: ignore[import-untyped]  # stubs for one name

from conda_llmenv.engines.conda import convert
from conda_llmenv.engines.conda.progress import Bar
from conda_llmenv.engines.package_cache import PackageCache, is_sound
from conda_llmenv.errors import InstallFailed
from conda_llmenv.model import Record
from conda_llmenv.ports import Reporter
from conda_llmenv.redact import mask

_PIECE = 1 << 20


class Wanted(Struct, frozen=True):
    """A record to install, ours and conda's."""

    record: Record
    package: Any

    @classmethod
    def of(cls, record: Record) -> Wanted:
        """Return it with its counterpart."""
        return cls(record, convert.to_package(record))


def prepare(cache: PackageCache, wanted: Sequence[Wanted]) -> None:
    """Sort out, in every cache of conda's, which packages may be used as they are; conda fetches the others anew.

    Args:
        cache: the first of the caches, which others share with us; held.
        wanted: what will be looked for.
    """
    PackageCacheData.first_writable()  # makes a folder that only others have used so far one of conda's
    cache.drop_outdated(one.record for one in wanted)
    for one in wanted:
        _adopt(cache, one)
    pairs = [(PackageCacheData(folder), one) for folder in context.pkgs_dirs for one in wanted]
    found = [caches.get(one.package, None) for caches, one in pairs]  # not in threads: the first reads the folder
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        usable = list(pool.map(_is_usable, found, [one.record for _, one in pairs]))
    for (caches, one), good in zip(pairs, usable, strict=True):
        if not good:
            caches.remove(one.package, None)


def _adopt(cache: PackageCache, one: Wanted) -> None:
    """Let conda know of a package that the embedded engine has put into the cache they share.

    That engine notes the archive's hash beside the folder and leaves out ``info/repodata_record.json``, without which
    conda takes a package for one of unknown origin.
    """
    folder, noted = cache.path(one.record), _noted_hash(cache, one.record)
    if one.record.sha256 and noted == one.record.sha256 and _recorded(folder).get("sha256") != noted:
        with contextlib.suppress(OSError, ValueError):  # it is damaged, and will be fetched anew
            full = PackageRecord.from_objects(one.package, read_index_json(str(folder)))
            write_as_json_to_file(str(folder / "info" / "repodata_record.json"), full)


def _noted_hash(cache: PackageCache, record: Record) -> str:
    try:
        return cache.note_path(record).read_bytes()[8:40].hex() if (cache.path(record) / "info").is_dir() else ""
    except OSError:
        return ""


def _recorded(folder: Path) -> Mapping[str, Any]:
    try:
        return dict(read_repodata_json(str(folder)))
    except (OSError, ValueError, TypeError):
        return {}


def _is_usable(found: Any, record: Record) -> bool:
    """Return whether a cached package is whole and the one asked for, extracted or as an archive to extract.

    What is extracted and not whole is removed where the archive beside it is good: conda looks no further than whether
    the folder is there.
    """
    if found is None:
        return True
    kind, expected = hash_of(record)
    folder = Path(found.extracted_package_dir)
    if found.is_extracted and _recorded(folder).get(kind) == expected and is_sound(folder):
        return True
    if not found.is_fetched or digest(Path(found.package_tarball_full_path), kind) != expected:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def hash_of(record: Record) -> tuple[str, str | None]:
    """Return the kind and value of the hash a record is verified by."""
    return ("sha256", record.sha256) if record.sha256 else ("md5", record.md5)


def digest(path: Path, kind: str) -> str:
    """Return the hash of a file."""
    found = hashlib.new(kind, usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()


class Fetch(ProgressiveFetchExtract):  # type: ignore[misc]  # conda has no types where it is absent
    """conda's download and extraction, with our progress.

    Args:
        wanted: what has to be in the caches.
        reporter: who is told.
        given_up: asked every now and then whether the work has become pointless.
    """

    def __init__(self, wanted: Iterable[Wanted], reporter: Reporter, given_up: Callable[[], bool]) -> None:
        self._records = {one.package: one.record for one in wanted}
        self._reporter = reporter
        self._given_up = given_up
        self._lock = threading.Lock()
        self._done: dict[Any, float] = {}
        super().__init__(tuple(self._records))

    def missing(self) -> list[Record]:
        """Return the records whose archive has to be fetched."""
        self.prepare()
        return [self._records[package] for package, (fetch, _) in self.paired_actions.items() if fetch]

    def execute(self) -> None:
        """Fetch and extract what is not there, as a stage of its own."""
        missing = self.missing()
        self._total = sum(record.size or 0 for record in missing) or None
        if missing:
            self._reporter.start("download", self._total)
        super().execute()
        if missing:
            self._reporter.finish("download")

    def make_actions_for_record(self, package: Any) -> tuple[Any, Any]:
        """Return conda's two steps for a package, the first of them ours."""
        fetch, extract = super().make_actions_for_record(package)
        if extract:
            extract.record_or_spec = package  # what conda found in a cache may lack the sha256, and would be noted
        return (_Verified(fetch, self._records[package], self._given_up) if fetch else None), extract

    def advance(self, package: Any, fraction: float) -> None:
        """Note how much of a package has arrived.

        Raises:
            InstallFailed: nobody needs it any more.
        """
        if self._given_up():
            raise InstallFailed("stopped, because another part of the work has failed")
        with self._lock:
            self._done[package] = max(fraction, self._done.get(package, 0.0))
            done = sum(fraction * (self._records[one].size or 0) for one, fraction in self._done.items())
            self._reporter.advance("download", round(done), self._total)

    def _progress_bar(self, package: Any, *_: Any, **__: Any) -> Bar:
        fetched = self.paired_actions[package][0] is not None
        return Bar(lambda fraction: self.advance(package, fraction)) if fetched else Bar()


class _Verified(CacheUrlAction):  # type: ignore[misc]  # as above
    """conda's way of putting an archive into a cache; a broken download is gone on with, a local archive verified.

    Args:
        action: conda's own.
        record: what is fetched.
        given_up: asked before another attempt.
    """

    def __init__(self, action: Any, record: Record, given_up: Callable[[], bool]) -> None:
        super().__init__(
            action.url,
            action.target_pkgs_dir,
            action.target_package_basename,
            sha256=record.sha256,
            size=record.size,
            md5=record.md5,
        )
        self._record = record
        self._given_up = given_up

    def _execute_channel(self, target_package_cache: Any, progress_update_callback: Any = None) -> None:
        self._go_on(max(1, context.remote_max_retries), target_package_cache, progress_update_callback)

    def _go_on(self, attempts: int, *arguments: Any) -> None:
        """Download; where the connection breaks, go on from there, ``attempts`` times."""
        try:
            super()._execute_channel(*arguments)
        except ChunkedEncodingError as error:
            if not attempts or self._given_up():
                raise self._cut_short(error) from None
            self._go_on(attempts - 1, *arguments)

    def _cut_short(self, error: Exception) -> InstallFailed:
        return InstallFailed(
            f"{self._record.file_name} did not arrive whole, and trying again did not help",
            details=(mask(str(error)),),
            hint="check the network or the proxy and run the same command again; what has arrived is kept",
        )

    def _execute_local(self, source_path: str, target_package_cache: Any, progress_update_callback: Any = None) -> None:
        if not Path(source_path).is_file():
            raise InstallFailed(
                f"{self._record.file_name} is listed by its channel but is not there: {source_path}",
                hint="index the channel again, or ask its owner",
            )
        super()._execute_local(source_path, target_package_cache, progress_update_callback)
        kind, expected = hash_of(self._record)
        found = digest(Path(self.target_full_path), kind)
        if found != expected:
            Path(self.target_full_path).unlink()
            raise ChecksumMismatchError(self.url, self.target_full_path, kind, expected, found)
