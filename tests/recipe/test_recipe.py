"""The conda package: what the recipe says, what a real build of it holds, and that it works where it is installed.

The build is the real one: rattler-build solves the host environment, runs the script and packs the result. No channel
of the outside world is reached: Python comes from the offline channel, everything else is made of what is installed
beside these tests. conda alone is stood in for by an empty package, except where a Python with conda is named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rattler_build import RattlerBuildError, Stage0Recipe

import conda_llmenv
from conda_llmenv.locks import pip_toml as toml
from tests.conftest import RECORDED
from tests.program import Program
from tests.recipe.building import RECIPE, ROOT, build, run_test, unpack, write_channel
from tests.recipe.installed import closure, conda_name, installed

pytestmark = pytest.mark.xdist_group("recipe")

PYPROJECT = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
IMPORTS, PROGRAM, CONDA = range(3)
"""The recipe's tests, by number."""


@dataclass(frozen=True)
class Workshop:
    """Where the package was built: the channels it was built against, itself, and what it holds."""

    folder: Path
    channels: list[str]
    package: Path
    content: Path

    def info(self, name: str) -> Any:
        """Return one of the package's own descriptions."""
        return json.loads((self.content / "info" / name).read_text(encoding="utf-8"))


def recipe() -> dict[str, Any]:
    """Return the recipe as rattler-build renders it."""
    (variant,) = Stage0Recipe.from_file(RECIPE).render()
    rendered: dict[str, Any] = variant.recipe.to_dict()
    return rendered


def specs(section: str) -> dict[str, SpecifierSet]:
    """Return a section of the requirements: name to versions."""
    split = [spec.partition(" ") for spec in recipe()["requirements"][section]]
    return {name: SpecifierSet(versions) for name, _, versions in split}


def make_channels(folder: Path, offline_channel: Path, folders: list[str]) -> list[str]:
    """Write what the package needs, as installed in ``folders``, and return it and the channel with Python."""
    needed = [*(specs("run") | specs("host"))]
    missing = [name for name in needed if name not in {"python", "pip"} and installed(name, folders) is None]
    assert set(missing) <= {"conda", "tomli"}, "the package index has everything else"
    present = [name for name in needed if name not in {"python", "pip", *missing}]
    floors = {name: next(iter(specs("run")[name])).version for name in missing}
    write_channel(folder / "installed", closure(present, folders), floors)
    return [(folder / "installed").as_uri(), (offline_channel / "conda-forge").as_uri()]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, offline_channel: Path) -> Workshop:
    """Build the package once."""
    folder = tmp_path_factory.mktemp("recipe")
    channels = make_channels(folder, offline_channel, sys.path)
    package = build(folder, channels)
    return Workshop(folder, channels, package, unpack(package, folder / "content"))


def test_dependencies_are_those_of_the_project() -> None:
    """Each dependency of pyproject.toml is one of the package, with the same versions; conda and Python come on top."""
    declared = [Requirement(line) for line in PYPROJECT["project"]["dependencies"]]
    expected = {conda_name(requirement.name): requirement.specifier for requirement in declared}
    expected |= {"python": SpecifierSet(PYPROJECT["project"]["requires-python"]), "conda": SpecifierSet(">=26.5.2")}
    assert specs("run") == expected


def test_the_build_needs_what_the_project_says() -> None:
    """The build backend has the floor that pyproject.toml gives it, and Python ours."""
    (backend,) = [Requirement(line) for line in PYPROJECT["build-system"]["requires"]]
    expected = {"python": SpecifierSet(PYPROJECT["project"]["requires-python"]), "pip": SpecifierSet()}
    assert specs("host") == expected | {backend.name: backend.specifier}


def test_the_version_is_the_program_s() -> None:
    """A release changes the version in one place and hears of the other here."""
    assert recipe()["package"] == {"name": "conda-llmenv", "version": conda_llmenv.__version__}


def test_the_renderer_takes_the_recipe_and_would_not_take_any(tmp_path: Path) -> None:
    """It is a recipe of schema 1 with one output; a field the format lacks is refused, so this means something."""
    assert Stage0Recipe.from_file(RECIPE).schema_version == 1
    text = RECIPE.read_text(encoding="utf-8")
    for wrong in ("run_constrained", "constraints"):
        with pytest.raises(RattlerBuildError, match=wrong):
            Stage0Recipe.from_yaml(text.replace("run_constraints", wrong), recipe_dir=tmp_path)


@pytest.mark.channels
def test_conda_forge_has_every_name() -> None:
    """Each package the recipe names is one that conda-forge's recorded metadata knows."""
    known: set[str] = set()
    for path in RECORDED.glob("conda-forge/*/repodata.json"):
        data = json.loads(path.read_text(encoding="utf-8"))
        known |= {record["name"] for kind in ("packages", "packages.conda") for record in data.get(kind, {}).values()}
    assert {*specs("host"), *specs("run"), *specs("run_constraints")} <= known


def test_the_package_describes_itself(workshop: Workshop) -> None:
    """A noarch Python package with the recipe's dependencies and constraints, one command, and the licence."""
    index = workshop.info("index.json")
    assert (index["name"], index["version"]) == ("conda-llmenv", conda_llmenv.__version__)
    assert (index["noarch"], index["subdir"]) == ("python", "noarch")
    requirements = recipe()["requirements"]
    assert sorted(index["depends"]) == sorted(requirements["run"])
    assert sorted(index["constrains"]) == sorted(requirements["run_constraints"])
    assert {spec.partition(" ")[0] for spec in index["constrains"]} == {
        "conda-libmamba-solver", "conda-rattler-solver", "libmambapy",
    }  # fmt: skip
    noarch = workshop.info("link.json")["noarch"]
    assert noarch == {"type": "python", "entry_points": ["llmenv = conda_llmenv.cli.main:script"]}
    assert (workshop.content / "info/licenses/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_package_holds_the_program_its_data_and_nothing_else(workshop: Workshop) -> None:
    """Every module, table, schema, fragment and recipe of the checkout is there, and no file beside them."""
    paths = {entry["_path"] for entry in workshop.info("paths.json")["paths"]}
    metadata = f"site-packages/conda_llmenv-{conda_llmenv.__version__}.dist-info/"
    found = {path for path in paths if not path.startswith(metadata)}
    sources = [path.relative_to(ROOT) for path in (ROOT / "conda_llmenv").rglob("*") if _is_source(path)]
    fragments = [path.relative_to(ROOT) for name in ("envs", "recipes") for path in (ROOT / name).rglob("*.yml")]
    expected = {f"site-packages/{path}" for path in sources}
    assert found == expected | {f"site-packages/conda_llmenv/data/{path}" for path in fragments}
    assert any("/data/schemas/" in path for path in found)
    assert workshop.package.stat().st_size < 1_000_000


def test_the_metadata_announces_the_plugin(workshop: Workshop) -> None:
    """``conda llmenv`` is found by an entry point of the installed metadata."""
    (path,) = workshop.content.glob("site-packages/*.dist-info/entry_points.txt")
    assert "[conda]\nconda-llmenv = conda_llmenv.plugin" in path.read_text(encoding="utf-8")


def test_no_file_tells_where_it_was_built(workshop: Workshop) -> None:
    """No folder of this machine is in a file that gets installed, and no prefix waits to be replaced in one.

    rattler-build's own record of the build (info/recipe/rendered_recipe.yaml, the channels in info/about.json) does
    name where it took place, on every machine.
    """
    private = [str(place).encode() for place in (ROOT, workshop.folder, sys.prefix, "placehold_placehold")]
    own = [path for path in (workshop.content / "site-packages").rglob("*") if path.is_file()]
    assert not [str(path) for path in own for place in private if place in path.read_bytes()]
    assert not list((workshop.content / "site-packages").rglob("direct_url.json"))
    assert not [entry for entry in workshop.info("paths.json")["paths"] if "prefix_placeholder" in entry]


def test_the_recipe_s_own_tests_pass(workshop: Workshop) -> None:
    """In an environment with all dependencies the package is imported, and its command lists the tiers."""
    run_test(workshop.package, IMPORTS, workshop.folder, workshop.channels)
    said = run_test(workshop.package, PROGRAM, workshop.folder, workshop.channels)
    assert "A100" in said


def test_it_installs_itself(workshop: Workshop, llmenv: Program, prefix: Path) -> None:
    """`llmenv create` with this package in a file: its command starts that prefix's Python and finds its data."""
    channels = [(workshop.folder / "built").as_uri(), workshop.channels[0]]
    listed = "".join(f"  - {channel}\n" for channel in channels)
    file = llmenv.write("self.yml", f"channels:\n{listed}dependencies:\n  - conda-llmenv\n")
    # The checkout is on PYTHONPATH for the program under test, and would rightly be told to shadow what is installed.
    created = llmenv("create", "-f", file, "-p", prefix, "-y", "--no-channel-priority", "--no-verify")
    assert created.code == 0, created.text
    command = prefix / "bin" / "llmenv"
    assert command.read_text(encoding="utf-8").startswith(f"#!{prefix}/bin/python")
    (packages,) = prefix.glob("lib/python3*/site-packages")
    assert (packages / "conda_llmenv/data/envs/tiers/a100.yml").is_file()
    clean = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": llmenv.environ["HOME"]}
    done = subprocess.run(
        [command, "tiers", "list", "--json"], env=clean, cwd=llmenv.cwd, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "a100" in done.stdout


@pytest.mark.conda
def test_conda_finds_the_plugin(workshop: Workshop, offline_channel: Path) -> None:
    """With a real conda in the environment the last test of the recipe passes: `conda llmenv --help` is ours."""
    folders = _folders_of(os.environ.get("CONDA_PYTHON", ""))
    folder = workshop.folder / "with-conda"
    folder.mkdir()
    channels = make_channels(folder, offline_channel, folders)
    said = run_test(workshop.package, CONDA, folder, channels)
    assert "Usage: conda llmenv" in said


def _folders_of(python: str) -> list[str]:
    """Return where a Python with conda looks for packages; skip without one that is of this version."""
    if not python:
        pytest.skip("no conda: make test-conda CONDA_PYTHON=/path/to/base/bin/python runs this")
    code = "import json, sys; print(json.dumps([sys.version_info[:2], sys.path]))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    version, folders = json.loads(done.stdout)
    if tuple(version) != sys.version_info[:2]:
        pytest.skip(f"the Python with conda is {version[0]}.{version[1]}, so its packages do not fit this one")
    return [folder for folder in folders if folder]


def _is_source(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
