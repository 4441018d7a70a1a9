"""An environment as one reads it before any content: what is there, and what was recorded of it by whom."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from conda_llmenv.prefix.integrity.conda_records import holds_conda, read_conda_records, recorded_paths
from conda_llmenv.prefix.integrity.exclusions import is_derived
from conda_llmenv.prefix.integrity.model import Entry, Finding, Owner, Package, Problem, Recorded
from conda_llmenv.prefix.integrity.pip_records import read_record, record_files
from conda_llmenv.prefix.integrity.tree import entries


class Inventory(Struct, frozen=True):
    """What is on the disk and what the records say.

    Attributes:
        prefix: absolute.
        entries: files and links by path, without what is in ``__pycache__``.
        compiled: the compiled files that are there.
        recorded: what is noted of each path; a path may have several owners, conda packages first.
        compiled_by: what is noted of compiled files, which may have been written anew since.
        packages: the conda packages.
        unreadable: records of distributions that cannot be read.
    """

    prefix: Path
    entries: Mapping[str, Entry]
    compiled: Mapping[str, Entry]
    recorded: Mapping[str, Sequence[Recorded]]
    compiled_by: Mapping[str, Sequence[Recorded]]
    packages: tuple[Package, ...]
    unreadable: tuple[Finding, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(entry.size for entry in self.entries.values())

    @property
    def prefixes(self) -> tuple[bytes, ...]:
        """The ways to write the prefix: as given and with links resolved, the longest first."""
        ways = {os.fsencode(self.prefix), os.fsencode(os.path.realpath(self.prefix))}
        return tuple(sorted(ways, key=lambda way: (-len(way), way)))

    def from_conda(self, path: str) -> list[Recorded]:
        """Return what conda packages have noted of a path."""
        return [noted for noted in self.recorded.get(path, ()) if noted.owner.tool == "conda"]


def take_inventory(prefix: Path) -> Inventory:
    """List an environment and read its records; no file of a package is opened.

    Raises:
        PrefixError: a folder cannot be listed, or a record of conda's is broken.
    """
    records = read_conda_records(prefix)
    present, compiled = _split(prefix, base=holds_conda(records))
    every: dict[str, list[Recorded]] = {}
    for path, noted in recorded_paths(records):
        every.setdefault(path, []).append(noted)
    unreadable = _add_distributions(prefix, present, every)
    compiled_by = {path: every.pop(path) for path in [path for path in every if is_derived(path)]}
    packages = tuple(record.package for record in records)
    return Inventory(prefix, present, compiled, every, compiled_by, packages, unreadable)


def _split(prefix: Path, *, base: bool) -> tuple[dict[str, Entry], dict[str, Entry]]:
    """Return what is there, and what Python compiled from it."""
    present: dict[str, Entry] = {}
    compiled: dict[str, Entry] = {}
    for entry in entries(prefix, base=base):
        (compiled if is_derived(entry.path) else present)[entry.path] = entry
    return present, compiled


def _add_distributions(
    prefix: Path, present: Mapping[str, Entry], recorded: dict[str, list[Recorded]]
) -> tuple[Finding, ...]:
    """Add what distributions have noted that did not come in a conda package."""
    unreadable = []
    for path in [path for path in record_files(present) if path not in recorded]:
        try:
            rows = read_record(prefix, path)
        except (OSError, ValueError) as error:
            owner = Owner("pip", *path.split("/")[-2].removesuffix(".dist-info").rsplit("-", 1))
            unreadable.append(Finding(Problem.ALTERED, path, (owner,), f"it cannot be read: {error}"))
            recorded.setdefault(path, []).append(Recorded(owner))
            continue
        for place, noted in rows:
            recorded.setdefault(place, []).append(noted)
    return tuple(unreadable)
