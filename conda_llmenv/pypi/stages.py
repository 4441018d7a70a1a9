"""What is installed first, and what has to wait because its build needs what the first stage installs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from packaging.utils import canonicalize_name

from conda_llmenv.errors import InputError
from conda_llmenv.model import PipKind, PipRequest, PipRequirement, PipSection
from conda_llmenv.pypi.localsources import check_local_sources

_SOURCES = (PipKind.VCS, PipKind.PATH, PipKind.EDITABLE)


@lru_cache(maxsize=1)
def build_table() -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that always build against torch, and those that do where only their sources fit."""
    text = resources.files("conda_llmenv").joinpath("data/build_against_torch.json").read_text(encoding="utf-8")
    table = json.loads(text)
    return frozenset(table["always"]), frozenset(table["source"])


def split(section: PipSection) -> tuple[tuple[PipRequirement, ...], tuple[PipRequirement, ...]]:
    """Return the requirements of the first stage and those of the second, each in the section's order.

    Second are: names in ``no_build_isolation``, names known to build against torch, and sources (version control, local
    folders and archives, editable ones). A wheel, wherever it lies, needs no build and is first.
    """
    second = build_table()[0] | {canonicalize_name(name) for name in section.no_build_isolation}
    late = tuple(one for one in section.requirements if _is_late(one, second))
    return tuple(one for one in section.requirements if one not in late), late


def _is_late(requirement: PipRequirement, names: frozenset[str]) -> bool:
    if _is_wheel(requirement):
        return False
    return requirement.kind in _SOURCES or (requirement.name is not None and requirement.name in names)


def _is_wheel(requirement: PipRequirement) -> bool:
    if requirement.kind is PipKind.PATH and requirement.path is not None:
        return requirement.path.suffix == ".whl"
    target = requirement.text.split(" ;")[0].split("#")[0].split(" --")[0].strip()
    return requirement.kind is PipKind.URL and target.split("?")[0].endswith(".whl")


def check_request(request: PipRequest, environ: Mapping[str, str]) -> None:
    """Refuse what no installer can do.

    Args:
        request: what is asked.
        environ: for ``${NAME}`` references in paths.

    Raises:
        InputError: a local source is not there or cannot be installed, or there is no Python to install for.
    """
    check_local_sources(request.section, environ)
    if not request.python_version:
        origins = [one.origin for one in request.section.requirements[:1]]
        where = f"{origins[0]}: " if origins else ""
        raise InputError(
            f"{where}the environment has a pip section and no Python",
            hint="add `python` to the conda dependencies",
            origins=origins,
        )
