"""What a package cache holds, and whether it is still what was downloaded.

py-rattler checks the hash of what it downloads over HTTP, but not of archives on a ``file://`` channel, and it notes
the hash of a package before it has fetched it, so that an older content left behind would pass for the new one. Both
gaps are closed here. Layout and lock of the cache are its own, and conda reads it too: ``name-version-build/``, beside
it ``name-version-build.lock`` (a counter of 8 bytes and the archive's sha256), and ``.cache.lock`` for the whole. Ours
is ``name-version-build.md5``, for archives of which only that is known.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from conda_llmenv.errors import InstallFailed, LockBusy, NoSpace
from conda_llmenv.model import Record

TAMPERED = "nothing of it was kept; if trying again does not help, tell the channel: it may have been tampered with"

EXTRACTED = 8
"""How many times bigger than its archive a package may be once extracted."""

_PIECE = 1 << 20
_PATIENCE = 1.0

LONGEST_WAIT = 3600.0
"""Seconds to wait for another process that fills the cache; fetching a whole CUDA stack can take most of an hour."""
_SWEEPS = 5
_LEFTOVER = re.compile(r"\..+-.+-.+\w{6}")


class PackageCache(Struct, frozen=True):
    """One folder of extracted packages."""

    folder: Path

    def path(self, record: Record) -> Path:
        """Return where a package lies once extracted."""
        return self.folder / f"{record.name}-{record.version}-{record.build}"

    def holds(self, record: Record) -> bool:
        """Return whether something lies there."""
        return self.path(record).is_dir()

    def revision(self, record: Record) -> int:
        """Return how often the package was fetched."""
        return int.from_bytes(self._note(record)[:8], "big")

    @contextlib.contextmanager
    def locked(self, on_wait: Callable[[], None]) -> Iterator[None]:
        """Hold the cache against other processes; ``on_wait`` is called once if that takes longer than a second."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".cache.lock").open("a") as file:
            started, told = time.monotonic(), False
            while not _try_lock(file.fileno()):
                time.sleep(0.05)
                if not told and time.monotonic() > started + _PATIENCE:
                    on_wait()
                    told = True
                if time.monotonic() > started + LONGEST_WAIT:
                    raise LockBusy(
                        f"the package cache {self.folder} was busy for {LONGEST_WAIT / 60:.0f} minutes",
                        hint="end that process, or choose another cache with CONDA_PKGS_DIRS",
                    )
            yield

    def check_room(self, records: Iterable[Record]) -> None:
        """Refuse what cannot fit: extracted, packages are never smaller than their archives.

        Raises:
            NoSpace: even the archives are bigger than what is free.
        """
        facts = os.statvfs(self.folder)
        needed, free = sum(record.size or 0 for record in records), facts.f_bavail * facts.f_frsize
        if needed > free:
            raise NoSpace(
                f"the package cache needs {needed / 1e6:.0f} MB or more, and {free / 1e6:.0f} MB are free",
                details=(f"it is in {self.folder}",),
                hint="make room, or set CONDA_PKGS_DIRS to another disk",
            )

    def drop_outdated(self, records: Iterable[Record]) -> None:
        """Remove packages of the same name that came from another archive, and what interrupted fetches left.

        What is known by its md5 alone has to be noted with that very md5: nothing else would compare it.
        """
        for record in records:
            if self.holds(record) and self._is_other(record):
                self.drop(record)
        for path in self.folder.glob(".*"):
            if _LEFTOVER.fullmatch(path.name) and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)

    def note_md5(self, records: Iterable[Record]) -> None:
        """Note the md5 of packages that were just fetched, of those whose md5 is what the archive was compared with."""
        for record in records:
            if record.md5 and not record.sha256 and self.holds(record):
                self._md5_path(record).write_text(f"{self._note(record).hex()} {record.md5}", "ascii")

    def sweep(self, records: Iterable[Record]) -> None:
        """Remove what unfinished fetches of these packages have written; some may be in the middle of writing more."""
        patterns = [f".{glob.escape(self.path(record).name)}??????" for record in records]
        for _ in range(_SWEEPS):
            found = [path for pattern in patterns for path in self.folder.glob(pattern)]
            if not found:
                return
            for path in found:
                shutil.rmtree(path, ignore_errors=True)
            time.sleep(0.05)

    def drop_damaged(self, records: Iterable[Record]) -> None:
        """Compare every file of the packages that are there with its recorded hash, and remove the damaged ones."""
        present = [record for record in records if self.holds(record)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for record, sound in zip(present, pool.map(lambda one: is_sound(self.path(one)), present), strict=True):
                if not sound:
                    self.drop(record)

    def drop(self, record: Record) -> None:
        """Remove a package, so that no part of it is ever seen under its name."""
        path = self.path(record)
        aside = path.with_name(f".{path.name}{os.getpid() % 1_000_000:06}")
        path.rename(aside)
        shutil.rmtree(aside)
        self.note_path(record).unlink(missing_ok=True)
        self._md5_path(record).unlink(missing_ok=True)

    def note_path(self, record: Record) -> Path:
        """Return the file that notes how often and from which archive a package was fetched."""
        path = self.path(record)
        return path.with_name(f"{path.name}.lock")

    def _is_other(self, record: Record) -> bool:
        if record.sha256:
            noted = self._note(record)[8:40].hex()
            return bool(noted) and noted != record.sha256
        return bool(record.md5) and self._noted_md5(record) != record.md5

    def _noted_md5(self, record: Record) -> str:
        """Return the md5 of the archive that a package was extracted from, empty where nobody has compared it."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return str(json.loads((self.path(record) / "info" / "repodata_record.json").read_bytes())["md5"])  # conda's
        with contextlib.suppress(OSError, ValueError):
            fetch, _, md5 = self._md5_path(record).read_text("ascii").partition(" ")
            return md5 if fetch == self._note(record).hex() else ""  # of the fetch that is there still
        return ""

    def _md5_path(self, record: Record) -> Path:
        path = self.path(record)
        return path.with_name(f"{path.name}.md5")

    def _note(self, record: Record) -> bytes:
        try:
            return self.note_path(record).read_bytes()
        except OSError:
            return b""


def _try_lock(number: int) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_sound(package: Path) -> bool:
    """Return whether every file of an extracted package is there and is what ``info/paths.json`` says."""
    try:
        json.loads((package / "info" / "index.json").read_bytes())
        paths = json.loads((package / "info" / "paths.json").read_bytes())["paths"]
        return all(_is_entry_sound(package / entry["_path"], entry) for entry in paths)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _is_entry_sound(path: Path, entry: dict[str, Any]) -> bool:
    if entry.get("path_type") == "softlink":
        return path.is_symlink()
    if entry.get("path_type") == "directory":
        return path.is_dir()
    if not path.is_file() or path.stat().st_size != entry.get("size_in_bytes", path.stat().st_size):
        return False
    return "sha256" not in entry or _digest(path, "sha256") == str(entry["sha256"])


def local_archive(record: Record) -> Path | None:
    """Return the archive of a record on a ``file://`` channel, or None for one that has to be downloaded."""
    parts = urlsplit(record.url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def verify_archive(record: Record) -> None:
    """Check an archive on a ``file://`` channel against the hash in repodata.

    Raises:
        InstallFailed: it is another file than repodata describes, or is not there.
    """
    archive = local_archive(record)
    if archive is None:
        return
    kind, expected = ("sha256", record.sha256) if record.sha256 else ("md5", record.md5)
    try:
        actual = _digest(archive, kind)
    except FileNotFoundError as error:
        raise InstallFailed(
            f"{record.file_name} is listed by its channel but is not there: {archive}",
            hint="index the channel again, or ask its owner",
        ) from error
    if actual != expected:
        raise hash_mismatch(record, kind, expected or "", actual, str(archive))


def hash_mismatch(record: Record, kind: str, expected: str, actual: str, where: str) -> InstallFailed:
    """Return the failure of an archive that is not what repodata says, with both hashes."""
    return InstallFailed(
        f"{record.file_name} is not the file its channel describes: its {kind} differs",
        details=(f"expected  {expected}", f"found     {actual}", f"from      {where}"),
        hint=TAMPERED,
    )


def _digest(path: Path, kind: str) -> str:
    digest = hashlib.new(kind, usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
