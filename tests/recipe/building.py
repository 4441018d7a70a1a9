"""Builds the recipe as a packager would, with every package it needs made of what is installed here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from rattler.package_streaming import extract
from rattler_build import Package as Built
from rattler_build import Stage0Recipe, ToolConfiguration

from tests.channel.archive import Package, write_package
from tests.channel.build import index
from tests.recipe.installed import stage

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "conda.recipe" / "recipe.yaml"


def write_channel(channel: Path, distributions: Iterable[Distribution], stand_ins: Mapping[str, str]) -> None:
    """Write a channel of installed distributions, and of empty packages for names that can only be stood in for."""
    with tempfile.TemporaryDirectory(dir=channel.parent) as work:
        for distribution in distributions:
            staged = Path(tempfile.mkdtemp(dir=work))
            write_package(stage(distribution, staged), staged, channel)
        for name, version in stand_ins.items():
            staged = Path(tempfile.mkdtemp(dir=work))
            (staged / "share").mkdir()
            (staged / "share" / f"{name}.txt").write_text("stands in for the real one\n", encoding="utf-8")
            write_package(Package(name, version, subdir="noarch", noarch="generic"), staged, channel)
    index(channel)


@contextmanager
def apart(folder: Path) -> Iterator[None]:
    """Let the build tool keep its caches and temporary folders below ``folder``, not in the person's home."""
    home, temporary = folder / "home", folder / "tmp"
    home.mkdir(exist_ok=True)
    temporary.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("CONDA_", "RATTLER_", "PIP_", "XDG_"))]:
            patch.delenv(name)
        for name, value in {"HOME": home, "TMPDIR": temporary, "RATTLER_CACHE_DIR": folder / "cache"}.items():
            patch.setenv(name, str(value))
        yield


def build(folder: Path, channels: list[str]) -> Path:
    """Build the recipe below ``folder`` against these channels alone and return the package."""
    (variant,) = Stage0Recipe.from_file(RECIPE).render()
    with apart(folder):
        made = variant.run_build(ToolConfiguration(test_strategy="skip"), folder / "built", channels)
    (package,) = made.packages
    return Path(package)


def run_test(package: Path, number: int, folder: Path, channels: list[str]) -> str:
    """Run one test of the recipe in an environment with the package and all its dependencies; return what it said.

    Raises:
        AssertionError: it failed.
    """
    with apart(folder):
        result = Built.from_file(package).run_test(number, channel=channels)
    said = "\n".join(result.output)
    assert result.success, said
    return said


def unpack(package: Path, folder: Path) -> Path:
    """Extract a package and return the folder."""
    extract(package, folder)
    return folder
