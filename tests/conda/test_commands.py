"""``conda llmenv …`` is a part of conda: its commands, options, exit codes and what conda makes of the result."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conda.conftest import Conda

LAYER = """\
dependencies: [python, six]
variables: {GREETING: "héllo wörld", SPACED: "a  b", EQUALS: "x=y"}
llmenv: {verify: {imports: [six]}}
"""


@pytest.fixture
def made(conda: Conda, tmp_path: Path) -> Path:
    """An environment called ``proj`` that ``conda llmenv create`` made."""
    conda.write("layer.yml", LAYER)
    ended = conda("llmenv", "create", "-n", "proj", "-f", "layer.yml", "-y")
    assert ended.code == 0, ended.text
    return tmp_path / "envs" / "proj"


def test_help_is_clicks_and_names_the_whole_command(conda: Conda) -> None:
    """Without a parser of conda's every argument arrives, ``--help`` too, and usage says how it was called."""
    ended = conda("llmenv", "--help")
    assert ended.code == 0, ended.text
    assert ended.stdout.startswith("Usage: conda llmenv ")
    assert "conda llmenv create" in conda("llmenv", "create", "--help").stdout
    assert "llmenv" in conda("--help").stdout, "and conda lists it"


@pytest.mark.parametrize(
    "arguments",
    [
        ["tiers", "list"],
        ["tiers", "show", "a100"],
        ["tiers", "detect"],
        ["recipes"],
        ["compose", "--recipe", "minimal", "--tier", "cpu"],
        ["list"],
        ["info"],
        ["create", "-n", "x", "--dry-run", "python", "six"],
        ["create", "-p", "somewhere", "--dry-run", "python"],
    ],
    ids=" ".join,
)
def test_json_is_one_document_and_nothing_else(conda: Conda, arguments: list[str]) -> None:
    """Conda's own parser sees ``--json`` too; stdout still is ours alone."""
    plain = conda("llmenv", *arguments)
    assert plain.code == 0, plain.text
    ended = conda("llmenv", *arguments, "--json")
    assert ended.code == 0, ended.text
    assert ended.json()["ok"] is True
    assert not (conda.cwd / "somewhere").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["create", "--frobnicate"], 2, "No such option"),
        (["create", "-n", "x", "--tier", "a10O", "python"], 2, "a100"),
        (["remove", "-n", "nowhere", "-y"], 2, "nowhere"),
        (["info", "-n", "nowhere"], 2, "nowhere"),
        (["create", "-n", "x", "six", "nosuchpackage", "-y"], 1, "nosuchpackage"),
        (["create", "-n", "base", "python"], 2, "never touched"),
        (["nosuchcommand"], 2, "nosuchcommand"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_exit_codes_pass_through(conda: Conda, arguments: list[str], code: int, says: str) -> None:
    """2 is a mistake in what was typed, 1 is work that failed; with ``--json`` the reason is the document."""
    ended = conda("llmenv", *arguments)
    assert (ended.code, says in ended.stderr) == (code, True), ended.text
    assert "Traceback" not in ended.text
    ended = conda("llmenv", *arguments, "--json")
    assert ended.code == code
    assert ended.json()["ok"] is False


def test_a_double_dash_ends_the_options(conda: Conda) -> None:
    """What stands behind ``--`` is a package, whatever it looks like."""
    ended = conda("llmenv", "create", "--dry-run", "--", "python", "--json")
    assert ended.code == 2
    assert "--json" in ended.stderr


def test_quiet_prints_no_progress_and_verbose_every_package(conda: Conda) -> None:
    """``-q`` and ``-v`` mean what they mean to conda."""
    quiet = conda("llmenv", "create", "-n", "q", "python", "-q", "-y")
    assert quiet.code == 0, quiet.text
    assert "link" not in quiet.stderr
    loud = conda("llmenv", "create", "-n", "v", "python", "-v", "--dry-run")
    assert "ca-certificates" in loud.stdout


def test_conda_sees_a_finished_environment(conda: Conda, made: Path) -> None:
    """``conda env list``, ``conda list`` and ``conda doctor`` find nothing odd."""
    assert str(made) in json.loads(conda("env", "list", "--json").stdout)["envs"]
    listed = {package["name"]: package for package in json.loads(conda("list", "-n", "proj", "--json").stdout)}
    assert {"python", "six", "pip"} <= set(listed)
    assert listed["six"]["channel"] == "conda-forge"
    doctor = conda("doctor", "-n", "proj", "-v")
    assert doctor.code == 0, doctor.text
    assert "❌" not in doctor.text, doctor.text
    found = conda("llmenv", "list", "--json").result()
    assert str(made) in json.dumps(found)


def test_activating_sets_the_variables_byte_for_byte(conda: Conda, made: Path) -> None:
    """A shell that activates the environment has exactly the values that were written."""
    hook = conda("shell.posix", "activate", str(made))
    assert hook.code == 0, hook.text
    shown = subprocess.run(
        ["bash", "-c", f'{hook.stdout}\nprintf \'%s\\0\' "$GREETING" "$SPACED" "$EQUALS" "$PYTHONNOUSERSITE"'],
        env={**conda.environ, "PS1": ""},
        capture_output=True,
        check=True,
    )
    assert shown.stdout.decode().split("\0")[:-1] == ["héllo wörld", "a  b", "x=y", "1"]


def test_conda_goes_on_with_the_environment(conda: Conda, made: Path) -> None:
    """``conda install``, ``update`` and ``remove`` work on it as on one of conda's own."""
    ended = conda("install", "-n", "proj", "-y", "numpy")
    assert ended.code == 0, ended.text
    assert list((made / "conda-meta").glob("numpy-*.json"))
    assert conda("update", "-n", "proj", "-y", "six").code == 0
    removed = conda("remove", "-n", "proj", "-y", "numpy")
    assert removed.code == 0, removed.text
    assert not list((made / "conda-meta").glob("numpy-*.json"))
    specs = conda("export", "-n", "proj", "--from-history").stdout
    assert "six" in specs


def test_removing_takes_it_out_of_condas_list(conda: Conda, made: Path) -> None:
    """``conda llmenv remove`` leaves no trace, and conda forgets it."""
    ended = conda("llmenv", "remove", "-n", "proj", "-y")
    assert ended.code == 0, ended.text
    assert not made.exists()
    assert str(made) not in json.loads(conda("env", "list", "--json").stdout)["envs"]


def test_a_prefix_by_path(conda: Conda, tmp_path: Path) -> None:
    """``-p`` puts it anywhere, and it is noted where conda looks for such environments."""
    where = tmp_path / "else where" / "env"
    ended = conda("llmenv", "create", "-p", where, "python", "-y")
    assert ended.code == 0, ended.text
    assert conda("list", "-p", where).code == 0
    noted = Path(conda.environ["HOME"]) / ".conda" / "environments.txt"
    assert noted.read_text().splitlines() == [str(where)]
    if os.geteuid() != 0:  # for root, conda reads the list of every account instead, and no HOME
        assert str(where) in json.loads(conda("env", "list", "--json").stdout)["envs"]


@pytest.mark.parametrize("library", ["rattler", "libmambapy", "conda_rattler_solver"])
def test_a_library_that_cannot_be_loaded_never_hides_the_command(conda: Conda, tmp_path: Path, library: str) -> None:
    """``conda llmenv info`` says which engine is broken and why, and goes on."""
    broken = tmp_path / "broken" / library
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('libfoo.so.3: cannot open shared object file')\n")
    ended = conda("llmenv", "info", "--json", PYTHONPATH=str(broken.parent), CONDA_SOLVER="classic")
    assert ended.code == 0, ended.text
    engines = ended.result()["engines"]
    assert set(engines) == {"rattler", "conda", "libmamba"}
    told = {"rattler": ("rattler", "py-rattler"), "libmambapy": ("libmamba", "libmambapy")}.get(library)
    if told is None:  # a solver plugin of conda's: conda warns of it, and none of our engines depends on it alone
        assert engines["rattler"].startswith("py-rattler ")
    else:
        assert engines[told[0]] == f"{told[1]} cannot be loaded: libfoo.so.3: cannot open shared object file"


def test_our_settings_are_condas(conda: Conda) -> None:
    """``plugins:`` in .condarc chooses engine and tier; a variable of conda's does, too; the plan says so."""
    condarc = Path(conda.environ["HOME"]) / ".condarc"
    condarc.write_text("plugins:\n  llmenv_default_tier: cpu\n  llmenv_engine: rattler\n")
    result = conda("llmenv", "create", "--dry-run", "python", "--json").result()
    assert result["tier"] == {"name": "cpu", "reason": "configured as llmenv_default_tier (~/.condarc:2)"}
    assert result["engine_reason"] == "rattler, configured as llmenv_engine (~/.condarc:3)"
    ended = conda("llmenv", "create", "--dry-run", "python", CONDA_PLUGINS_LLMENV_ENGINE="nosuch")
    assert ended.code == 2
    assert "nosuch" in ended.stderr


def test_shared_fragments_come_from_the_configuration(conda: Conda, tmp_path: Path) -> None:
    """``llmenv_envs_path`` names folders that a group shares; a ``recipes`` folder beside counts."""
    shared = tmp_path / "group" / "envs"
    (shared / "tiers").mkdir(parents=True)
    (shared.parent / "recipes").mkdir()
    (shared / "ours.yml").write_text("dependencies: [six]\n")
    (shared.parent / "recipes" / "work.yml").write_text("llmenv: {fragments: [ours], tiers: [cpu]}\n")
    variables = {"CONDA_PLUGINS_LLMENV_ENVS_PATH": str(shared)}
    assert "work" in conda("llmenv", "recipes", **variables).stdout
    composed = conda("llmenv", "compose", "--recipe", "work", "--tier", "cpu", **variables)
    assert "six" in composed.stdout, composed.text


def test_conda_without_a_home_that_can_be_written(conda: Conda) -> None:
    """A read-only home stops nothing that does not write there."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    Path(conda.environ["HOME"]).chmod(0o500)
    assert conda("llmenv", "tiers", "list").code == 0
