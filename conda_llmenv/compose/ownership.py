"""Distributions that conda and pip would both install, and who of the two was chosen."""

from __future__ import annotations

import fnmatch
import importlib.resources
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from packaging.utils import canonicalize_name

from conda_llmenv.compose.conflicts import Conflict
from conda_llmenv.compose.specs import Gathered
from conda_llmenv.model import Fragment, PipRequirement, Sourced

SHARED = frozenset({"pip"})
"""Distributions that pip may renew though conda brings them: pip is what installs the rest."""


@lru_cache(maxsize=1)
def name_table() -> Mapping[str, Any]:
    """Return the dated table of names that ships with the package."""
    text = importlib.resources.files("conda_llmenv.data").joinpath("names.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table


def installed_names(conda_name: str) -> tuple[str, ...]:
    """Return the PyPI distributions that a conda package, if it is one of Python's, installs, normalised."""
    table = name_table()
    if conda_name in table["unrelated"] or conda_name.startswith("__"):
        return ()
    return tuple(map(canonicalize_name, table["installs"].get(conda_name, (conda_name,))))


@lru_cache(maxsize=16384)
def pip_names(conda_name: str) -> tuple[str, ...]:
    """Return the PyPI distributions (or patterns of them) that pip would install over or beside a conda package."""
    return (*installed_names(conda_name), *name_table()["replaces"].get(conda_name, ()))


def same_distribution(conda_name: str, pip_name: str) -> bool:
    """Return whether a conda package and a PyPI distribution install the same thing."""
    return any(
        fnmatch.fnmatchcase(pip_name, pattern) if "*" in pattern else pip_name == pattern
        for pattern in pip_names(conda_name)
    )


def settle_owners(
    packages: Mapping[str, Gathered], requirements: Sequence[PipRequirement], fragments: Iterable[Fragment]
) -> tuple[list[PipRequirement], list[Conflict]]:
    """Leave each distribution to one side: the chosen owner keeps it, the other side's entries are dropped.

    Returns:
        The requirements that stay, and a contradiction for every distribution without a chosen owner.
    """
    owners = _owners(fragments)
    kept: list[PipRequirement] = []
    shared: dict[str, tuple[list[str], list[PipRequirement]]] = {}
    doubles = dict(_doubles(packages, requirements))
    for requirement in requirements:
        conda_names = doubles.get(requirement.name or "", [])
        owner = next((owners[name] for name in (requirement.name, *conda_names) if name in owners), None)
        if conda_names and owner is None:
            shared.setdefault(requirement.name or "", (conda_names, []))[1].append(requirement)
        if conda_names and owner is not None and owner.value == "pip":
            for name in conda_names:
                packages[name].drop(owner.origin)
        if not (conda_names and owner is not None and owner.value == "conda"):
            kept.append(requirement)
    return kept, [_conflict(name, *sides, packages) for name, sides in shared.items()]


def _owners(fragments: Iterable[Fragment]) -> dict[str | None, Sourced]:
    return {name: chosen for fragment in fragments for name, chosen in fragment.owner}


def _doubles(
    packages: Mapping[str, Gathered], requirements: Iterable[PipRequirement]
) -> Iterator[tuple[str, list[str]]]:
    asked = sorted(name for name, gathered in packages.items() if gathered.parts)
    exact: dict[str, list[str]] = {}
    patterns: list[tuple[str, str]] = []
    for name in asked:
        for known in pip_names(name):
            if "*" in known:
                patterns.append((known, name))
            else:
                exact.setdefault(known, []).append(name)
    for pip_name in dict.fromkeys(requirement.name for requirement in requirements):
        if pip_name is None or pip_name in SHARED:
            continue
        found = [*exact.get(pip_name, []), *(name for known, name in patterns if fnmatch.fnmatchcase(pip_name, known))]
        if found:
            yield pip_name, list(dict.fromkeys(found))


def _conflict(
    name: str, conda_names: Sequence[str], requirements: Sequence[PipRequirement], packages: Mapping[str, Gathered]
) -> Conflict:
    conda_sides = [(f"conda {part.value}", part.origin) for one in conda_names for part, _ in packages[one].parts]
    pip_sides = [(f"pip {requirement.text}", requirement.origin) for requirement in requirements]
    return Conflict(
        f"{name}",
        (*conda_sides, *pip_sides),
        "would be installed by conda and by pip, one over the other",
        hint=f"choose one side: llmenv: {{owner: {{{name}: conda}}}} or {{owner: {{{name}: pip}}}}",
    )
