"""``verify --integrity`` and ``info --digest`` on environments that were really made."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.index import artifacts
from tests.index.server import write_flat
from tests.program import Program

TEAM = """\
dependencies: [python, six, click, pip, prefix-demo, {pip: [tinydist, withscript]}]
variables: {HERE: there}
"""


@pytest.fixture
def team(llmenv: Program, tmp_path: Path) -> Program:
    """A program that knows a fragment with both sections; a distribution brings a command, a native file and data."""
    files = {
        "withscript/__init__.py": "def main(): print('hello')\n",
        "withscript/native.so": "\x7fELF\0\0",
        "withscript-1.0.data/data/share/withscript/a.txt": "data\n",
        "withscript-1.0.dist-info/entry_points.txt": "[console_scripts]\nwithscript = withscript:main\n",
    }
    wheels = [artifacts.wheel("tinydist", "1.0"), artifacts.wheel("withscript", "1.0", files=files)]
    llmenv.environ["PIP_FIND_LINKS"] = llmenv.environ["UV_FIND_LINKS"] = str(write_flat(tmp_path / "links", wheels))
    llmenv.write("team.yml", TEAM)
    return llmenv


def make(program: Program, prefix: Path, *options: str) -> Path:
    ended = program("create", "-f", "team.yml", "-p", prefix, "-y", "--no-verify", *options)
    assert ended.code == 0, ended.text
    return prefix


def rewrite(path: Path, text: str) -> None:
    """Write a file anew; the one that is there may be a hard link into a cache that other tests use."""
    path.unlink()
    path.write_text(text)


def digest(program: Program, prefix: Path) -> dict[str, Any]:
    found: dict[str, Any] = program("info", "-p", prefix, "--digest", "--json").result()["digest"]
    return found


def test_two_creations_have_one_digest(team: Program, tmp_path: Path) -> None:
    """In prefixes of different lengths; in the long one scripts are started through a shell."""
    one = make(team, tmp_path / "a")
    other = make(team, tmp_path / ("a-long-name-" * 8) / ("another-" * 5) / "env")
    assert (other / "bin" / "withscript").read_bytes().startswith(b"#!/bin/sh\n")
    shown = subprocess.run([other / "bin" / "withscript"], capture_output=True, text=True, check=True)
    assert shown.stdout == "hello\n"
    first = digest(team, one)
    assert digest(team, other) == first
    assert len(first["value"]) == 64
    assert first["value"] in team("info", "-p", one, "--digest").stdout
    for prefix in (one, other):
        for option in ([], ["--stat-only"]):
            ended = team("verify", "-p", prefix, "--integrity", *option)
            assert ended.code == 0, ended.text
            assert ended.stdout.startswith("intact: ")
    rewrite(one / "lib" / "prefix-demo.bin", "x")
    assert digest(team, one)["parts"]["files"] != first["parts"]["files"]


def test_pip_in_place_of_uv(team: Program, tmp_path: Path) -> None:
    """Whoever installed the pip section."""
    one = make(team, tmp_path / "a")
    other = make(team, tmp_path / "b", "--installer", "pip")
    assert digest(team, one) == digest(team, other)
    assert team("verify", "-p", other, "--integrity").code == 0


def test_using_it_changes_nothing(team: Program, prefix: Path) -> None:
    """Importing compiles modules; neither the digest nor the check minds."""
    before = digest(team, make(team, prefix))
    code = "import json, email.mime.text, tinydist, click, http.server"
    subprocess.run([prefix / "bin" / "python", "-c", code], check=True, env={"HOME": str(prefix.parent)})
    assert list(prefix.glob("lib/python3*/site-packages/tinydist/__pycache__/*.pyc"))
    assert digest(team, prefix) == before
    assert team("verify", "-p", prefix, "--integrity").code == 0


def test_what_was_changed_is_named_with_its_owner(team: Program, prefix: Path) -> None:
    """The verdict first, then each file with whose it is, then a next step; exit code 1."""
    make(team, prefix)
    (site,) = prefix.glob("lib/python3*/site-packages")
    rewrite(site / "click" / "core.py", "tampered")
    (prefix / "twin").hardlink_to(site / "click" / "core.py")
    rewrite(site / "tinydist" / "__init__.py", "__version__ = '1.1'\n")
    (prefix / "bin" / "prefix-demo.sh").unlink()
    (site / "added.py").write_text("")
    ended = team("verify", "-p", prefix, "--integrity")
    assert ended.code == 1
    verdict, *lines = ended.stdout.splitlines()
    assert verdict.startswith(f"changed: 2 altered, 1 missing, 2 foreign in {prefix} (")
    place = site.relative_to(prefix)
    assert f"altered   {place}/click/core.py   click 8.1.8 (conda)   it has 8 bytes instead of 114748" in lines
    assert f"altered   {place}/tinydist/__init__.py   tinydist 1.0 (pip)   its content is different" in lines
    assert "missing   bin/prefix-demo.sh   prefix-demo 1.0 (conda)" in lines
    assert f"foreign   {place}/added.py   nobody's" in lines
    assert "fix       the package cache shares altered files by hard links: remove click from it first" in lines
    assert f"          conda install -p {prefix} --force-reinstall click prefix-demo" in lines
    quick = team("verify", "-p", prefix, "--integrity", "--stat-only", "--json")
    assert quick.code == 1
    document = json.loads(quick.stdout)
    assert document["ok"] is False
    found = document["result"]["integrity"]
    assert [(one["problem"], one["path"]) for one in found["findings"]] == [
        ("altered", f"{place}/click/core.py"),
        ("missing", "bin/prefix-demo.sh"),
        ("foreign", f"{place}/added.py"),
        ("foreign", "twin"),
    ]
    assert found["findings"][0]["owners"] == [{"tool": "conda", "name": "click", "version": "8.1.8"}]
    assert found["contents"] is False


def test_what_was_changed_since_it_was_made_is_named(team: Program, prefix: Path) -> None:
    """A package that conda forgot, one that pip took away, and a variable; what made it anew is intact at first."""
    make(team, prefix)
    (record,) = (prefix / "conda-meta").glob("six-*.json")
    record.unlink()
    python = prefix / "bin" / "python"
    subprocess.run([python, "-m", "pip", "uninstall", "-y", "tinydist"], check=True, capture_output=True)
    state = prefix / "conda-meta" / "state"
    state.write_text(state.read_text().replace("there", "elsewhere"))
    ended = team("verify", "-p", prefix, "--integrity", "--stat-only")
    assert ended.code == 1
    assert "3 not as it was made" in ended.stdout.splitlines()[0]
    drifted = [line for line in ended.stdout.splitlines() if line.startswith("drifted ")]
    assert any("six" in line and "removed after" in line for line in drifted)
    assert any("tinydist 1.0 (pip)" in line and "removed after" in line for line in drifted)
    assert any("HERE has another value" in line for line in drifted)


def test_a_lock_takes_nothing_from_an_altered_cache(team: Program, prefix: Path, tmp_path: Path) -> None:
    """The cache of uv shares its files with environments: one altered in one of them is not installed into the next."""
    team.environ["UV_CACHE_DIR"] = str(tmp_path / "uv")
    team.environ["UV_LINK_MODE"] = "hardlink"
    ended = team("lock", "-f", "team.yml", "--format", "pixi")
    assert ended.code == 0, ended.text
    lock = ("create", "--lock", "pixi.lock", "--require-hashes", "-p")
    first = team(*lock, tmp_path / "first")
    assert first.code == 0, first.text
    (module,) = (tmp_path / "first").glob("lib/python3*/site-packages/tinydist/__init__.py")
    with module.open("a") as stream:
        stream.write("print('altered')\n")
    refused = team(*lock, prefix)
    assert refused.code == 1
    assert "tinydist: lib/" in refused.stderr
    assert "uv cache clean tinydist" in refused.stderr
    assert not prefix.exists()
    shutil.rmtree(tmp_path / "uv")
    again = team(*lock, prefix)
    assert again.code == 0, again.text


def test_formats_of_one_lock_have_one_digest(team: Program, tmp_path: Path) -> None:
    """An explicit list installs distributions by address, which leaves a ``direct_url.json``; pixi's does not."""
    digests = {}
    for name, file in (("pixi", "pixi.lock"), ("explicit", "explicit.txt")):
        locked = team("lock", "-f", "team.yml", "--format", name)
        assert locked.code == 0, locked.text
        ended = team("create", "--lock", file, "-p", tmp_path / name)
        assert ended.code == 0, ended.text
        digests[name] = digest(team, tmp_path / name)
    assert list((tmp_path / "explicit").glob("lib/python3*/site-packages/tinydist-*/direct_url.json"))
    assert digests["pixi"] == digests["explicit"]


def test_many_findings_are_cut_short_but_not_in_json(team: Program, prefix: Path) -> None:
    """A screen shows the first ones and how many there are."""
    make(team, prefix)
    for number in range(30):
        (prefix / f"note-{number:02}").touch()
    shown = team("verify", "-p", prefix, "--integrity").stdout
    assert shown.count("foreign   note-") == 20
    assert "and 10 more foreign; --json lists them all" in shown
    found = json.loads(team("verify", "-p", prefix, "--integrity", "--json").stdout)
    assert len(found["result"]["integrity"]["findings"]) == 30


def test_odd_names_stay_on_their_line(llmenv: Program, prefix: Path) -> None:
    """A name can hold any byte but two; a report is still one line each, and JSON is still JSON."""
    assert llmenv("create", "-p", prefix, "six").code == 0
    (prefix / "fine\nintact: all is well").touch()
    Path(os.fsdecode(os.fsencode(prefix) + b"/\xff\x1b[31m")).touch()
    shown = llmenv("verify", "-p", prefix, "--integrity")
    assert shown.code == 1
    assert [line for line in shown.stdout.splitlines() if line.startswith("foreign")] == [
        "foreign   fine\\nintact: all is well   nobody's",
        "foreign   \\\\xff\\x1b[31m   nobody's",
    ]
    assert len(json.loads(llmenv("verify", "-p", prefix, "--integrity", "--json").stdout)["result"]) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [([], "none is active"), (["--stat-only"], "add --integrity"), (["--integrity", "-n", "nope"], "no environment")],
)
def test_usage(llmenv: Program, options: list[str], says: str) -> None:
    """What is missing is said, with exit code 2."""
    ended = llmenv("verify", *options)
    assert ended.code == 2
    assert says in ended.stderr


def test_the_digest_of_no_environment(llmenv: Program) -> None:
    """Without a name the active environment is meant; without one that is said."""
    ended = llmenv("info", "--digest")
    assert ended.code == 2
    assert "none is active" in ended.stderr
