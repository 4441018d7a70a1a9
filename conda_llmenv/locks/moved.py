"""Packages that one lock has from conda and another from pip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from packaging.utils import canonicalize_name

from conda_llmenv.compose.ownership import installed_names, same_distribution
from conda_llmenv.model import PipPackage, Record
from conda_llmenv.pypi.provided import is_python_package


def moves(
    old_records: Sequence[Record],
    new_records: Iterable[Record],
    old_pip: Iterable[PipPackage],
    new_pip: Iterable[PipPackage],
) -> Iterator[tuple[str, str]]:
    """Yield (conda's name, pip's name) of what conda has on the old side only and pip on the new side only.

    Each package is paired once; one whose distribution has its own name goes before a part of a metapackage.
    """
    records, distributions = {record.name for record in new_records}, {package.name for package in old_pip}
    gone = sorted((record for record in old_records if record.name not in records), key=lambda record: record.name)
    come = sorted(package.name for package in new_pip if package.name not in distributions)
    taken: set[str] = set()
    for pip_name in come:
        fitting = [record.name for record in gone if record.name not in taken and _installs(record, pip_name)]
        if fitting:
            conda_name = min(fitting, key=lambda name: (pip_name not in installed_names(name), name))
            taken.add(conda_name)
            yield conda_name, pip_name


def _installs(record: Record, pip_name: str) -> bool:
    """Return whether a conda package stands for a distribution; a C library is not the PyPI project of its name."""
    if not same_distribution(record.name, pip_name):
        return False
    return canonicalize_name(record.name) != pip_name or may_be_python(record)


def provides(record: Record, pip_name: str) -> bool:
    """Return whether a conda package installs this very distribution, as far as its dependencies are known."""
    return pip_name in installed_names(record.name) and may_be_python(record)


def may_be_python(record: Record) -> bool:
    """Return whether a conda package can be a Python distribution; one whose dependencies nobody knows can."""
    return not record.depends or is_python_package(record)
