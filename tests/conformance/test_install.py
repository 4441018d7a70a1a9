"""The same ``create`` through each engine: the same records, and a prefix that tools cannot tell apart."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.conformance.batch import CONDA_PYTHON, OPTIONAL, EngineAbsent, environment, python_of
from tests.conformance.cases import BASE, ENGINES, PLUGINS
from tests.conformance.facts import Facts, differences, facts_of, read_alike
from tests.program import ROOT, Program

DIFFERS = Path(__file__).with_name("install.yml")
"""What an engine leaves otherwise than the base engine does, and why."""

FILE = """\
dependencies: [python, click, numpy, prefix-demo, activate-demo, data-generic]
variables:
  PLAIN: one
  ODD: a; b & (c) * é
"""

GROUP = pytest.mark.xdist_group("conformance-install")
pytestmark = [pytest.mark.engine, GROUP, pytest.mark.timeout(600)]


def engines(names: tuple[str, ...] = ENGINES) -> list[object]:
    """Return engines as parameters; those that need a conda are marked so."""
    return [pytest.param(name, marks=[pytest.mark.conda] if name != BASE else []) for name in names]


@dataclass
class EngineProgram(Program):
    """Runs ``llmenv`` in the Python that has an engine."""

    python: str = ""

    @property
    def argv(self) -> list[str]:
        """The program itself."""
        return [self.python, "-m", "conda_llmenv"]


@dataclass(frozen=True)
class Made:
    """What came of ``llmenv create`` through one engine."""

    result: Any
    facts: Facts


@pytest.fixture(scope="module")
def made(offline_channel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """Create the environment through an engine, once; all at the same prefix, which is written into files."""
    folder = tmp_path_factory.mktemp("install")
    (folder / "environment.yml").write_text(FILE, encoding="utf-8")
    kept: dict[str, Made] = {}

    def make(engine: str) -> Made:
        try:
            python = python_of(engine)
        except EngineAbsent as absent:
            pytest.skip(str(absent))
        if engine not in kept:
            kept[engine] = _made(EngineProgram(folder, _machine(folder, engine, offline_channel), python), engine)
        return kept[engine]

    return make


def _machine(folder: Path, engine: str, channel: Path) -> dict[str, str]:
    return {
        **environment(folder / engine, PLUGINS.get(engine, "")),
        "CONDA_PKGS_DIRS": str(folder / "pkgs"),  # one cache for all, as on a machine that has several tools
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "CONDA_CHANNEL_ALIAS": channel.as_uri(),
        "UV_CACHE_DIR": str(folder / "uv"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
    }


def _made(program: EngineProgram, engine: str) -> Made:
    prefix = program.cwd / "env"
    wanted = ("-p", prefix, "-t", "cpu", "-f", "environment.yml", "-y", "--json")
    ended = program("create", "--engine", engine, *wanted, "--no-verify")  # a report is named by its time
    if engine == OPTIONAL and "is not installed in this Python" in ended.text:
        pytest.skip(ended.json()["error"]["message"])
    result = ended.result()
    facts = facts_of(prefix, engine, _listed(prefix, program.environ))
    shutil.rmtree(prefix)
    return Made(result, facts)


def _listed(prefix: Path, environ: dict[str, str]) -> Any:
    python = os.environ.get(CONDA_PYTHON)
    if not python:
        return None
    argv = [python, "-m", "conda", "list", "-p", str(prefix), "--json"]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


@pytest.mark.parametrize("engine", engines(ENGINES[1:]))
def test_the_records_of_a_created_environment_are_the_same(engine: str, made: Callable[[str], Made]) -> None:
    """One record file for each package, and each says the same in every field that others read."""
    ours, theirs = made(engine).facts.records, made(BASE).facts.records
    assert list(ours) == list(theirs)
    for name, record in ours.items():
        assert read_alike(record) == read_alike(theirs[name])


@pytest.mark.parametrize("engine", engines(ENGINES[1:]))
def test_history_and_variables_are_the_same(engine: str, made: Callable[[str], Made]) -> None:
    """What conda reads back: the requested specs, the added packages and what activation sets."""
    ours, theirs = made(engine).facts, made(BASE).facts
    assert ours.history == theirs.history
    assert ours.variables == theirs.variables
    assert ours.variables["ODD"] == "a; b & (c) * é"


@pytest.mark.parametrize("engine", engines())
def test_what_was_asked_for_is_in_the_records(engine: str, made: Callable[[str], Made]) -> None:
    """A package that somebody asked for is told from one that came along."""
    records = made(engine).facts.records.values()
    asked = {record["name"] for record in records if read_alike(record)["requested_specs"]}
    assert asked == {"python", "click", "numpy", "prefix-demo", "activate-demo", "data-generic", "pip"}


@pytest.mark.parametrize("engine", engines())
def test_hard_links_are_made(engine: str, made: Callable[[str], Made]) -> None:
    """Cache and prefix are on one disk here, so nothing is stored twice."""
    assert {record["link"]["type"] for record in made(engine).facts.records.values()} == {1}


@pytest.mark.parametrize("engine", engines(ENGINES[1:]))
def test_every_other_difference_is_listed(engine: str, made: Callable[[str], Made]) -> None:
    """Files, permission bits and raw records are equal but for what ``install.yml`` lists and explains."""
    found = differences(made(engine).facts, made(BASE).facts)
    listed = YAML(typ="safe", pure=True).load(DIFFERS.read_text(encoding="utf-8"))[engine]
    assert {place: told for place, told in found.items() if place not in listed} == {}
    assert sorted(listed.keys() - found.keys()) == []
    assert all(len(why.split()) > 3 for why in listed.values())


@pytest.mark.conda
@pytest.mark.parametrize("engine", engines())
def test_conda_lists_the_same(engine: str, made: Callable[[str], Made]) -> None:
    """`conda list --json` of each environment has the same entries."""
    listed = made(engine).facts.listed
    if listed is None:
        pytest.skip(f"no conda: set {CONDA_PYTHON}")
    assert listed == made(BASE).facts.listed
    assert {entry["name"] for entry in listed} == {record["name"] for record in made(BASE).facts.records.values()}


@pytest.mark.parametrize("engine", engines(ENGINES[1:]))
def test_the_program_reports_the_same(engine: str, made: Callable[[str], Made]) -> None:
    """Whoever reads `--json` gets the same list of packages whichever engine it was."""
    ours, theirs = made(engine).result, made(BASE).result
    assert ours.keys() == theirs.keys()
    assert ours["packages"] == theirs["packages"]
