"""``lock``, ``export`` and ``create --lock``: the same environment for everyone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.index import artifacts
from tests.index.server import write_flat
from tests.program import Ended, Program

EXACT = {"pixi": "pixi.lock", "conda-lock": "conda-lock.yml", "explicit": "explicit.txt"}
"""Formats that carry hashes, with the file each is written to."""

WITH_PIP = ("pixi", "conda-lock", "environment")

LAYER = """\
channels: [conda-forge, nodefaults]
dependencies: [python, six]
variables: {GREETING: hello}
"""


@pytest.fixture
def project(llmenv: Program, tmp_path: Path) -> Program:
    """A project whose pip section can be had from a folder of wheels."""
    write_flat(tmp_path / "wheels", [artifacts.wheel("tiny-dist", "1.2"), artifacts.wheel("tiny-dist", "1.1")])
    llmenv.environ["PIP_FIND_LINKS"] = str(tmp_path / "wheels")
    llmenv.write("llmenv.yml", LAYER)
    return llmenv


def with_pip(project: Program, line: str = "tiny-dist") -> None:
    """Let the project ask for a distribution, too."""
    project.write("llmenv.yml", LAYER.replace("six]", f"six, pip, {{pip: [{line}]}}]"))


def ok(ended: Ended) -> Ended:
    """Return a run that went well."""
    assert ended.code == 0, ended.text
    return ended


def facts(prefix: Path) -> dict[str, Any]:
    """Return what two environments that are the same have in common."""
    records = [json.loads(path.read_text()) for path in sorted((prefix / "conda-meta").glob("*.json"))]
    state = json.loads((prefix / "conda-meta" / "state").read_text())
    return {
        "conda": [(one["name"], one["version"], one["build"], one["sha256"]) for one in records],
        "pip": sorted(path.name for path in prefix.glob("lib/python3*/site-packages/tiny_dist-*.dist-info")),
        "variables": state["env_vars"],
    }


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_lock_makes_the_same_environment(project: Program, tmp_path: Path, name: str) -> None:
    """Lock, create from it in another prefix, export that: the same records, and nothing was solved."""
    if name in WITH_PIP:
        with_pip(project)
    ok(project("create", "-p", tmp_path / "first"))
    ok(project("lock", "--format", name))
    text = (project.cwd / EXACT[name]).read_text()
    assert str(tmp_path / "first") not in text
    ended = ok(project("create", "--lock", EXACT[name], "-p", tmp_path / "second" / "longer", "--json"))
    assert ended.result()["engine_reason"] == "a lock: nothing was solved"
    assert facts(tmp_path / "first") == facts(tmp_path / "second" / "longer")
    assert digest(project, tmp_path / "first") == digest(project, tmp_path / "second" / "longer")
    again = ok(project("export", "-p", tmp_path / "second" / "longer", "--format", name)).stdout
    assert body(again) == body(text)


def digest(project: Program, prefix: Path) -> str:
    """Return what an environment comes to wherever it lives."""
    found: str = project("info", "-p", prefix, "--digest", "--json").result()["digest"]
    return found


def body(text: str) -> list[str]:
    """Return a lock without its head; in an explicit list any order that links dependencies first will do."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return sorted(lines) if "@EXPLICIT" in lines else lines


def test_the_lock_for_people_makes_the_same_versions(project: Program, tmp_path: Path) -> None:
    """``environment.lock.yml`` → create → the same names and versions, the pip section included."""
    with_pip(project, "tiny-dist==1.1")
    ok(project("lock"))
    ok(project("create", "-p", tmp_path / "first"))
    ok(project("create", "--lock", "environment.lock.yml", "-p", tmp_path / "second"))
    assert facts(tmp_path / "first") == facts(tmp_path / "second")
    assert facts(tmp_path / "second")["pip"] == ["tiny_dist-1.1.dist-info"]
    assert digest(project, tmp_path / "first") == digest(project, tmp_path / "second")


def test_an_export_plans_to_the_same_specs(project: Program, tmp_path: Path) -> None:
    """Channels stay in the order they were merged in, and what is exported is what a dry run of it plans."""
    ok(project("create", "-p", tmp_path / "env"))
    ok(project("export", "-p", tmp_path / "env", "-o", "team.lock.yml", "--format", "environment"))
    planned = ok(project("create", "--lock", "team.lock.yml", "--dry-run", "--json")).result()
    installed = {(name, version) for name, version, *_ in facts(tmp_path / "env")["conda"]}
    assert {(one["name"], one["version"]) for one in planned["packages"]} == installed


def test_a_lock_still_fits_or_says_why_not(project: Program) -> None:
    """``lock --check`` asks no channel: comments and order do not matter, a new pin does."""
    ok(project("lock"))
    assert "environment.lock.yml: fits" in ok(project("lock", "--check")).stdout
    project.write("llmenv.yml", "# a remark\n" + LAYER.replace("[python, six]", "[six, python]"))
    ok(project("lock", "--check"))
    project.write("llmenv.yml", LAYER.replace("six]", "six ==1.16.0]"))
    ended = project("lock", "--check")
    assert ended.code == 1
    assert "six ==1.16.0" in ended.stdout
    assert "llmenv.yml:2" in ended.stdout
    assert project("lock", "--check", "--json").json()["ok"] is False


def test_updating_moves_one_package_and_nothing_else(project: Program) -> None:
    """What was locked stays although newer versions are there, except for the package that is named; pip's side too."""
    dependencies = "[python, {dated}, {other}, pip, {{pip: [{pinned}]}}]"
    old = dependencies.format(dated="dated =1", other="gate-c =1", pinned="tiny-dist==1.1")
    free = dependencies.format(dated="dated", other="gate-c", pinned="tiny-dist")
    project.write("llmenv.yml", f"dependencies: {old}\n")
    ok(project("lock"))
    before = locked(project)
    assert (before["dated"], before["gate-c"], before["tiny-dist"]) == ("1.0", "1.0", "=1.1")
    project.write("llmenv.yml", f"dependencies: {free}\n")
    ended = ok(project("lock", "--update", "dated"))
    assert "moved     dated 1.0" in ended.stdout
    assert moved(before, locked(project)) == {"dated"}
    ok(project("lock", "--update", "tiny-dist"))
    assert moved(before, locked(project)) == {"dated", "tiny-dist"}
    ok(project("lock"))
    assert moved(before, locked(project)) == {"dated", "tiny-dist", "gate-c"}
    assert project("lock", "--update", "nosuch").code == 2


def moved(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """Return the names whose version is another."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def locked(project: Program) -> dict[str, str]:
    """Return name → version of the lock for people."""
    text = (project.cwd / "environment.lock.yml").read_text()
    pairs = (line.strip(" -").partition("=") for line in text.splitlines() if line.lstrip().startswith("- "))
    return {name: version for name, equals, version in pairs if equals}


def test_several_platforms_in_one_lock(project: Program) -> None:
    """A platform nobody is on can be locked for, as far as the channel has it; one without packages is named."""
    ended = project("lock", "--platform", "linux-64", "--platform", "osx-arm64", "--format", "pixi")
    assert ended.code == 1
    assert "osx-arm64" in ended.stderr


def test_an_edited_lock_is_refused(project: Program, prefix: Path) -> None:
    """A changed line is noticed before anything is downloaded; taking the digest out says that it is meant."""
    ok(project("lock"))
    path = project.cwd / "pixi.lock"
    whole = path.read_text()
    path.write_text(whole.replace("sha256: ", "sha256: 0", 1))
    ended = project("create", "--lock", "pixi.lock", "-p", prefix)
    assert ended.code == 2
    assert "pixi.lock is not what llmenv wrote" in ended.stderr
    assert not prefix.exists()


@pytest.mark.parametrize("name", EXACT)
def test_a_wrong_hash_stops_the_installation(project: Program, prefix: Path, name: str) -> None:
    """A lock whose hash is not the file's fails with the package named, and leaves nothing."""
    ok(project("lock", "--format", name))
    path = project.cwd / EXACT[name]
    text = "\n".join(line for line in path.read_text().splitlines() if "digest:" not in line)
    start = text.rindex("six-1.17.0")
    hashed = text.index("sha256:", start) + len("sha256:")
    hashed += 1 if text[hashed] == " " else 0
    path.write_text(f"{text[:hashed]}{'0' * 64}{text[hashed + 64 :]}")
    ended = project("create", "--lock", EXACT[name], "-p", prefix, CONDA_PKGS_DIRS=str(prefix.parent / "pkgs"))
    assert ended.code == 1, ended.text
    assert "six-" in ended.stderr
    assert not prefix.exists()


def test_a_lock_for_another_platform_is_refused(project: Program, prefix: Path) -> None:
    """The platforms it has are named, and how to get this one."""
    ok(project("lock", "--format", "pixi"))
    path = project.cwd / "pixi.lock"
    text = path.read_text().replace("linux-64", "linux-aarch64")
    path.write_text("\n".join(line for line in text.splitlines() if "digest:" not in line))
    ended = project("create", "--lock", "pixi.lock", "-p", prefix)
    assert ended.code == 2
    assert "linux-64" in ended.stderr
    assert not prefix.exists()


def test_a_lock_made_elsewhere_uses_the_mirror_of_this_site(project: Program, prefix: Path) -> None:
    """A lock with public addresses is fetched from where the configuration has the channel; the hashes decide."""
    ok(project("lock", "--format", "pixi"))
    path = project.cwd / "pixi.lock"
    public = path.read_text().replace(project.environ["CONDA_CHANNEL_ALIAS"], "https://conda.anaconda.org")
    path.write_text("\n".join(line for line in public.splitlines() if "digest:" not in line))
    ok(project("create", "--lock", "pixi.lock", "-p", prefix))
    assert "six" in {name for name, *_ in facts(prefix)["conda"]}


def test_hashes_can_be_required(project: Program, prefix: Path) -> None:
    """The lock for people has none; with --require-hashes it is refused, an exact one is not."""
    ok(project("lock"))
    ended = project("create", "--lock", "environment.lock.yml", "--require-hashes", "-p", prefix)
    assert ended.code == 2
    assert "have no sha256" in ended.stderr
    ok(project("create", "--lock", "pixi.lock", "--require-hashes", "-p", prefix))


def test_what_conda_made_can_be_exported(project: Program, tmp_path: Path) -> None:
    """An environment without our notes has its packages in any format; what was asked for is not made up."""
    ok(project("create", "-p", tmp_path / "env"))
    shutil.rmtree(tmp_path / "env" / "conda-meta" / "llmenv")
    text = ok(project("export", "-p", tmp_path / "env")).stdout
    assert "six=" in text
    assert "prefix" not in text
    ended = project("export", "-p", tmp_path / "env", "--asked")
    assert ended.code == 2
    assert "is not known" in ended.stderr


def test_no_secret_reaches_a_lock(project: Program, tmp_path: Path) -> None:
    """A canary in a channel's token, an index and a variable is in no lock of any format."""
    canary = "canary-51fa"
    channel = Path(project.environ["CONDA_CHANNEL_ALIAS"].removeprefix("file://"))
    project.write(
        "llmenv.yml",
        f"channels: [conda-forge]\ndependencies: [python, six, pip, {{pip: [--extra-index-url "
        f"'https://me:{canary}@127.0.0.1:9/simple', tiny-dist]}}]\nvariables: {{HF_TOKEN: hf_{canary}{'x' * 30}}}\n",
    )
    assert channel.is_dir()
    for name in ("environment", "pixi", "conda-lock", "pylock", "requirements", "constraints"):
        ended = ok(project("lock", "--format", name, "-o", f"out-{name}"))
        assert canary not in ended.text
        for path in (project.cwd / f"out-{name}").glob("*"):
            assert canary not in path.read_text()
