"""Makes conda packages of installed distributions: nothing is downloaded, and versions fit together already."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.channel.archive import Package
from tests.channel.interpreter import SITE_PACKAGES, TAG, subdir

CONDA_NAMES = {
    "backports-zstd": "backports.zstd",
    "ruamel-yaml": "ruamel.yaml",
    "ruamel-yaml-clib": "ruamel.yaml.clib",
}
"""Where conda-forge's name is not the normalised one of the Python package index."""

PROGRAMS = {"uv"}
"""What conda-forge packages as programs alone, without the Python module that finds them."""

SCRIPTS = {"conda": {"conda": "conda.cli:main"}}
"""What conda's own package starts; the script for pip sends people to ``conda init`` first."""


def installed(name: str, folders: list[str]) -> Distribution | None:
    """Return the distribution of this name that is installed in one of ``folders``."""
    return next(iter(Distribution.discover(name=canonicalize_name(name), path=folders)), None)


def closure(names: Iterable[str], folders: list[str]) -> list[Distribution]:
    """Return these distributions and all they need, as they are installed in ``folders``.

    Raises:
        LookupError: one is not there.
    """
    found: dict[str, Distribution] = {}
    wanted = [canonicalize_name(name) for name in names]
    while wanted:
        name = wanted.pop()
        if name not in found:
            if (distribution := installed(name, folders)) is None:
                raise LookupError(f"{name} is not installed")
            found[name] = distribution
            wanted += [canonicalize_name(requirement.name) for requirement in _requirements(distribution)]
    return list(found.values())


def _requirements(distribution: Distribution) -> Iterator[Requirement]:
    for line in distribution.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement


def conda_name(name: str) -> str:
    """Return what conda-forge calls a distribution."""
    normalised = canonicalize_name(name)
    return CONDA_NAMES.get(normalised, normalised)


def stage(distribution: Distribution, folder: Path) -> Package:
    """Copy a distribution's files into ``folder`` in conda's layout and return its package."""
    name = conda_name(distribution.name)
    pure = "Root-Is-Purelib: true" in (distribution.read_text("WHEEL") or "")
    points = {point.name: point.value for point in distribution.entry_points if point.group == "console_scripts"}
    scripts = SCRIPTS.get(name, points)
    _copy_files(distribution, folder, "site-packages" if pure else SITE_PACKAGES, scripts)
    needed = (f"{conda_name(requirement.name)} {requirement.specifier}" for requirement in _requirements(distribution))
    depends = ("python >=3.10", *(spec.strip() for spec in needed))
    if not pure:
        return Package(name, distribution.version, f"py{TAG}h0_0", 0, subdir(), depends)
    commands = tuple(f"{script} = {target}" for script, target in scripts.items())
    return Package(
        name, distribution.version, "pyh0_0", 0, "noarch", depends, noarch="python", entry_points=commands
    )  # fmt: skip


def _copy_files(distribution: Distribution, folder: Path, packages: str, scripts: Iterable[str]) -> None:
    """Copy modules and compiled programs; scripts are made anew in each environment."""
    for file in distribution.files or ():
        source = Path(str(file.locate()))
        if ".." not in file.parts and conda_name(distribution.name) not in PROGRAMS:
            _copy(source, folder / packages / file)
        elif file.parent.name == "bin" and source.name not in scripts:
            _copy(source, folder / "bin" / source.name)


def _copy(source: Path, target: Path) -> None:
    if source.suffix != ".pyc" and source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
