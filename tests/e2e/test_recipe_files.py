"""A recipe by its path, and the settings that conda's configuration has for us."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program import Program

RECIPE = "llmenv: {fragments: [base, ours], tiers: [cpu]}\n"


@pytest.fixture
def project(llmenv: Program) -> Program:
    """A project with a fragment and a recipe that is in no catalogue."""
    llmenv.write("envs/ours.yml", "dependencies: [six]\n")
    llmenv.write("mine.yml", RECIPE)
    return llmenv


def test_a_recipe_given_as_a_file_is_stacked_as_one(project: Program) -> None:
    """Its fragments stand below the tier, it is named as the recipe, and it means a tier even where none is asked."""
    result = project("create", "-f", "mine.yml", "--dry-run", "--json").result()
    assert result["recipe"] == "mine"
    assert result["tier"]["name"] == "cpu"
    assert "six" in result["specs"]
    explained = project("compose", "-f", "mine.yml", "--explain", "six").stdout
    assert "recipe" in explained


def test_a_fragment_given_as_a_file_stays_one(project: Program) -> None:
    """Nothing of a workload, no tier."""
    project.write("plain.yml", "dependencies: [six]\n")
    result = project("create", "-f", "plain.yml", "--dry-run", "--json").result()
    assert (result["recipe"], result["tier"]) == (None, None)


def test_the_configured_tier_counts_where_none_is_asked(project: Program) -> None:
    """``plugins: llmenv_default_tier`` is read without conda, too; what is typed wins over it."""
    condarc = Path(project.environ["HOME"]) / ".condarc"
    condarc.write_text("plugins:\n  llmenv_default_tier: a100\n")
    composed = project("compose", "six", "--json").result()
    assert composed["tier"] == "a100"
    assert project("compose", "six", "--tier", "cpu", "--json").result()["tier"] == "cpu"


@pytest.mark.parametrize(("setting", "word"), [("llmenv_engine", "nosuch"), ("llmenv_default_tier", "a10O")])
def test_a_wrong_setting_is_named_with_its_line(project: Program, setting: str, word: str) -> None:
    """A mistake in the configuration says where it stands and what is possible."""
    condarc = Path(project.environ["HOME"]) / ".condarc"
    condarc.write_text(f"plugins:\n  {setting}: {word}\n")
    ended = project("create", "six", "--dry-run")
    assert ended.code == 2
    assert word in ended.stderr
    assert "Traceback" not in ended.stderr


def test_shared_fragments_are_searched_after_the_project(project: Program, tmp_path: Path) -> None:
    """``llmenv_envs_path`` gives a group its fragments and recipes; the project's own win."""
    shared = tmp_path / "group" / "envs"
    shared.mkdir(parents=True)
    (shared / "ours.yml").write_text("dependencies: [numpy]\n")
    (shared / "theirs.yml").write_text("dependencies: [click]\n")
    (shared.parent / "recipes").mkdir()
    (shared.parent / "recipes" / "group.yml").write_text("llmenv: {fragments: [ours, theirs], tiers: [cpu]}\n")
    composed = project("compose", "--recipe", "group", "--json", CONDA_PLUGINS_LLMENV_ENVS_PATH=str(shared)).result()
    names = {one["name"] for one in composed["dependencies"]}
    assert {"six", "click"} <= names
    assert "numpy" not in names
