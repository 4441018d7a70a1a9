"""Distributions that an environment has from conda *and* from pip: torch twice, or two copies of NCCL."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from conda_llmenv.compose.ownership import SHARED, installed_names, pip_names
from conda_llmenv.locks.moved import may_be_python
from conda_llmenv.model import Notice, PipPackage, Record


class DoubleOwned(Struct, frozen=True):
    """One distribution with two owners.

    Attributes:
        package: what pip installed.
        records: the conda packages that bring the same.
        same_files: pip wrote over conda's files; else two copies lie beside each other and the loader picks one.
    """

    package: PipPackage
    records: tuple[Record, ...]
    same_files: bool

    def notice(self) -> Notice:
        """Return the sentence for a person."""
        one, conda = self.package, ", ".join(f"{record.name} {record.version}" for record in self.records)
        ends = "one is written over the other" if self.same_files else "both are there, and it is chance which is used"
        return Notice(
            "owned-by-conda-and-pip",
            f"{one.name} {one.version or ''}".rstrip() + f" is from pip, and {conda} is from conda: {ends}",
            hint=f"choose one side: llmenv: {{owner: {{{one.name}: conda}}}} or {{owner: {{{one.name}: pip}}}}",
        )


def double_owned(records: Iterable[Record], pip: Iterable[PipPackage]) -> tuple[DoubleOwned, ...]:
    """Return every distribution that both sides own, by the name of pip's.

    A record that is known not to be a Python package (a C library such as zstd) does not own the distribution of its
    name. pip itself may be renewed by pip.

    Args:
        records: the conda packages of one environment.
        pip: what pip installed in it.
    """
    owners = _Owners.of(records)
    found = ((package, owners.find(package.name)) for package in pip if package.name not in SHARED)
    return tuple(
        DoubleOwned(package, tuple(same or beside), bool(same))
        for package, (same, beside) in sorted(found, key=lambda one: one[0].name)
        if same or beside
    )


class _Owners(Struct, frozen=True):
    """Names and patterns of distributions → the conda packages that install or replace them."""

    installs: Mapping[str, Sequence[Record]]
    replaces: Mapping[str, Sequence[Record]]

    @classmethod
    def of(cls, records: Iterable[Record]) -> _Owners:
        """Return who installs which name, and whose names stand for another distribution."""
        installs: dict[str, list[Record]] = {}
        replaces: dict[str, list[Record]] = {}
        for record in records:
            own = set(_own_names(record))
            for name in own:
                installs.setdefault(name, []).append(record)
            for pattern in set(pip_names(record.name)) - set(installed_names(record.name)):
                replaces.setdefault(pattern, []).append(record)
        return cls(installs, replaces)

    def find(self, name: str) -> tuple[Sequence[Record], Sequence[Record]]:
        """Return the records that install a distribution, and those that bring the same under another name."""
        beside = [
            one for pattern, found in self.replaces.items() if fnmatch.fnmatchcase(name, pattern) for one in found
        ]
        return self.installs.get(name, ()), list(dict.fromkeys(beside))


def _own_names(record: Record) -> Iterator[str]:
    """Yield the distributions that a record installs; one that lists no dependencies may be Python's."""
    if may_be_python(record):
        yield from installed_names(record.name)
