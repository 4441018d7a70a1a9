"""conda reads our recipes, fragments, project files and locks, and writes our lockfile, with its own commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conda.conftest import Conda
from tests.index import artifacts
from tests.index.server import write_flat
from tests.program import ROOT, Program

HINTS = (26, 7)
"""The first conda that asks plugins for hints below its errors."""

PROJECT = """\
channels: [conda-forge, nodefaults]
dependencies: [python, six]
variables: {GREETING: hello}
"""


def packages(conda: Conda, name: str) -> dict[str, str]:
    """Return name → version of what conda lists."""
    return {one["name"]: one["version"] for one in json.loads(conda("list", "-n", name, "--json").stdout)}


def variables(prefix: Path) -> dict[str, str]:
    """Return what activation sets."""
    found: dict[str, str] = json.loads((prefix / "conda-meta" / "state").read_text())["env_vars"]
    return found


def test_a_recipe_is_an_environment_file(conda: Conda, tmp_path: Path) -> None:
    """``conda env create -f recipes/minimal.yml`` stacks what the recipe names, with nothing said about formats."""
    ended = conda("env", "create", "-n", "rec", "-f", ROOT / "recipes" / "minimal.yml")
    assert ended.code == 0, ended.text
    assert {"python", "pip"} <= set(packages(conda, "rec"))
    assert variables(tmp_path / "envs" / "rec")["PYTHONNOUSERSITE"] == "1"


def test_conda_create_reads_a_recipe_too(conda: Conda) -> None:
    """``conda create --file`` goes the same way."""
    ended = conda("create", "-n", "rec", "-y", "--file", ROOT / "recipes" / "minimal.yml")
    assert ended.code == 0, ended.text
    assert "pip" in packages(conda, "rec")


def test_a_project_file_is_read_without_its_marker(conda: Conda, tmp_path: Path) -> None:
    """``nodefaults`` never becomes a channel that conda asks for."""
    conda.write("llmenv.yml", PROJECT)
    ended = conda("env", "create", "-n", "proj", "-f", "llmenv.yml")
    assert ended.code == 0, ended.text
    assert "nodefaults" not in ended.text
    assert "six" in packages(conda, "proj")
    assert variables(tmp_path / "envs" / "proj")["GREETING"] == "hello"


def test_a_fragment_is_composed_when_conda_is_told_so(conda: Conda) -> None:
    """A fragment is a valid environment.yml: conda reads it alone and says what it leaves out; with --format, not."""
    conda.write("envs/under.yml", "dependencies: [six]\n")
    conda.write("envs/over.yml", "dependencies: [python]\nllmenv: {extends: [under]}\n")
    alone = conda("env", "create", "-n", "alone", "-f", "envs/over.yml")
    assert alone.code == 0, alone.text
    assert "stands on under, which conda does not read; `--format llmenv` does" in alone.stderr
    assert "six" not in packages(conda, "alone")
    whole = conda("env", "create", "-n", "whole", "--format", "llmenv", "-f", "envs/over.yml")
    assert whole.code == 0, whole.text
    assert "six" in packages(conda, "whole")


def test_what_cannot_be_composed_is_said_with_its_line(conda: Conda) -> None:
    """A mistake is conda's kind of error with our words: file, line, reason, next step; no traceback."""
    conda.write("llmenv.yml", "dependencies: [python ==3.9, python ==3.11]\n")
    ended = conda("env", "create", "-n", "proj", "-f", "llmenv.yml")
    assert ended.code == 1
    assert "llmenv.yml:1" in ended.stderr
    assert "Traceback" not in ended.text


def test_other_peoples_files_are_left_alone(conda: Conda) -> None:
    """An environment.yml that has nothing of ours is read by conda as ever."""
    conda.write("environment.yml", "name: theirs\nchannels: [conda-forge]\ndependencies: [python]\n")
    assert conda("env", "create").code == 0
    conda.write("specs.txt", "python\n")
    assert conda("create", "-n", "listed", "-y", "--file", "specs.txt").code == 0


def test_a_login_node_solves_for_the_tier(conda: Conda, llmenv: Program, conda_version: tuple[int, ...]) -> None:
    """Without a driver here, conda solves with the ``__cuda`` the tier assumes; what the person sets wins."""
    conda.write("llmenv.yml", "dependencies: [cuda-build]\n")
    _with_package(conda, llmenv)
    default = {"CONDA_PLUGINS_LLMENV_DEFAULT_TIER": "a100"}
    ended = conda("env", "create", "-n", "gpu", "-f", "llmenv.yml", "--dry-run", **default)
    assert ended.code == 0, ended.text
    ended = conda("env", "create", "-n", "gpu", "-f", "llmenv.yml", "--dry-run", CONDA_OVERRIDE_CUDA="", **default)
    assert ended.code == 1
    assert "__cuda" in ended.stderr
    if conda_version >= HINTS:
        assert "CONDA_OVERRIDE_CUDA=VERSION" in ended.stderr


def _with_package(conda: Conda, llmenv: Program) -> None:
    """Put a package that needs a driver before the offline channel's, in a copy of its metadata."""
    channels = conda.cwd / "channels"
    source = Path(llmenv.environ["CONDA_CHANNEL_ALIAS"].removeprefix("file://"))
    shutil.copytree(
        source / "conda-forge", channels / "conda-forge", ignore=shutil.ignore_patterns("*.zst", "*shards*")
    )
    path = channels / "conda-forge" / "linux-64" / "repodata.json"
    data = json.loads(path.read_text())
    data["packages.conda"]["cuda-build-1.0-0.conda"] = {
        "name": "cuda-build",
        "version": "1.0",
        "build": "0",
        "build_number": 0,
        "depends": ["__cuda"],
        "subdir": "linux-64",
        "sha256": "0" * 64,
        "size": 1,
    }
    path.write_text(json.dumps(data))
    conda.environ["CONDA_CHANNEL_ALIAS"] = channels.as_uri()


def test_a_lock_makes_the_same_environment_elsewhere(conda: Conda, tmp_path: Path) -> None:
    """``conda export --format llmenv-lock`` and back: the same versions, variables and pip packages, no prefix."""
    write_flat(tmp_path / "wheels", [artifacts.wheel("tiny-dist", "1.2")])
    conda.write("layer.yml", PROJECT.replace("six]", "six, pip, {pip: [tiny-dist==1.2]}]"))
    links = {"PIP_FIND_LINKS": str(tmp_path / "wheels"), "PIP_NO_INDEX": "1"}
    ended = conda("llmenv", "create", "-n", "first", "-f", "layer.yml", "-y", **links)
    assert ended.code == 0, ended.text
    written = conda("export", "-n", "first", "-f", "environment.lock.yml")
    assert written.code == 0, written.text
    text = (conda.cwd / "environment.lock.yml").read_text()
    assert str(tmp_path) not in text
    assert "tiny-dist==1.2" in text
    assert "nodefaults" in text, "our own file keeps the marker"
    again = conda("env", "create", "-n", "second", "-f", "environment.lock.yml", **links)
    assert again.code == 0, again.text
    assert packages(conda, "second") == packages(conda, "first")
    assert variables(tmp_path / "envs" / "second") == variables(tmp_path / "envs" / "first")


def test_a_renamed_lock_is_recognised(conda: Conda) -> None:
    """The first line tells a lock, whatever the file is called."""
    assert conda("create", "-n", "plain", "-y", "python").code == 0
    shown = conda("export", "-n", "plain", "--format", "llmenv-lock")
    assert shown.code == 0, shown.text
    conda.write("team.yml", shown.stdout)
    ended = conda("env", "create", "-n", "again", "--format", "llmenv-lock", "-f", "team.yml")
    assert ended.code == 0, ended.text
    assert packages(conda, "again") == packages(conda, "plain")


def test_what_was_asked_can_be_exported(conda: Conda) -> None:
    """``--format llmenv`` gives the composed specs; of somebody else's environment it says that it does not know."""
    conda.write("layer.yml", "dependencies: [python >=3.10, six]\nvariables: {GREETING: hello}\n")
    assert conda("llmenv", "create", "-n", "ours", "-f", "layer.yml", "-y").code == 0
    shown = conda("export", "-n", "ours", "--format", "llmenv")
    assert shown.code == 0, shown.text
    assert "  - python >=3.10\n" in shown.stdout
    assert "six=" not in shown.stdout
    assert conda("create", "-n", "theirs", "-y", "python").code == 0
    ended = conda("export", "-n", "theirs", "--format", "llmenv")
    assert ended.code == 1
    assert "is not known" in ended.stderr


def test_the_marker_in_a_plain_file_is_explained(conda: Conda, conda_version: tuple[int, ...]) -> None:
    """Conda asks for ``nodefaults`` as a channel and fails; the hint below its error says what it is."""
    conda.write("environment.yml", "name: x\nchannels: [conda-forge, nodefaults]\ndependencies: [python]\n")
    if conda_version < HINTS:
        pytest.skip("this conda asks no plugin for hints, and its solver passes over a channel that is not there")
    ended = conda("env", "create")
    assert ended.code == 1
    assert "let `conda llmenv create -f FILE` read the file" in ended.stderr


@pytest.mark.parametrize(("name", "file"), [("llmenv-pixi", "pixi.lock"), ("llmenv-conda-lock", "conda-lock.yml")])
def test_an_exact_lock_is_an_environment_file(conda: Conda, name: str, file: str, tmp_path: Path) -> None:
    """``conda export`` writes it, ``conda create --file`` makes exactly that again, without solving."""
    conda.write("layer.yml", "dependencies: [python, six]\n")
    assert conda("llmenv", "create", "-n", "first", "-f", "layer.yml", "-y").code == 0
    written = conda("export", "-n", "first", "--format", name, "-f", file)
    assert written.code == 0, written.text
    ended = conda("create", "-n", "second", "-y", "--file", file)
    assert ended.code == 0, ended.text
    assert packages(conda, "second") == packages(conda, "first")
    assert "Solving" not in ended.text


def test_pip_packages_of_an_exact_lock_are_not_dropped_silently(conda: Conda, tmp_path: Path) -> None:
    """Conda installs none beside a list of addresses, and says so instead."""
    write_flat(tmp_path / "wheels", [artifacts.wheel("tiny-dist", "1.2")])
    conda.write("llmenv.yml", PROJECT.replace("six]", "six, pip, {pip: [tiny-dist==1.2]}]"))
    links = {"PIP_FIND_LINKS": str(tmp_path / "wheels"), "PIP_NO_INDEX": "1"}
    locked = conda("llmenv", "lock", **links)
    assert locked.code == 0, locked.text
    ended = conda("create", "-n", "x", "-y", "--file", "pixi.lock", **links)
    assert ended.code == 1
    assert "conda llmenv create --lock pixi.lock" in ended.stderr
    ended = conda("llmenv", "create", "-n", "x", "--lock", "pixi.lock", "-y", **links)
    assert ended.code == 0, ended.text
