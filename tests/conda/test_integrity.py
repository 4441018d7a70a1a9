"""Digests and integrity of environments that conda made, changed or shares with us."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.conda.conftest import Conda

PACKAGES = ("python", "six", "click", "pip", "numpy", "prefix-demo", "activate-demo")


def digest(conda: Conda, prefix: Path) -> str:
    found: str = conda("llmenv", "info", "-p", str(prefix), "--digest", "--json").result()["digest"]["value"]
    return found


def by_conda(conda: Conda, prefix: Path, *packages: str, **variables: str) -> Path:
    ended = conda("create", "-p", str(prefix), "-y", *packages, **variables)
    assert ended.code == 0, ended.text
    return prefix


def intact(conda: Conda, prefix: Path) -> None:
    for options in ([], ["--stat-only"]):
        ended = conda("llmenv", "verify", "-p", str(prefix), "--integrity", *options)
        assert ended.code == 0, ended.text


def test_conda_and_we_make_the_same(conda: Conda, tmp_path: Path) -> None:
    """Conda's linker and both of our engines give one digest, in prefixes short and too long for a first line."""
    places = [tmp_path / "envs" / "a", tmp_path / ("long-name-" * 10) / "b", tmp_path / "c", tmp_path / ("other-" * 20)]
    by_conda(conda, places[0], *PACKAGES)
    by_conda(conda, places[1], *PACKAGES)
    for place, engine in ((places[2], "rattler"), (places[3], "conda")):
        ended = conda("llmenv", "create", "-p", str(place), "--engine", engine, "-y", *PACKAGES)
        assert ended.code == 0, ended.text
    for place in places[:2]:  # we set this one wherever nobody says otherwise
        assert conda("env", "config", "vars", "set", "-p", str(place), "PYTHONNOUSERSITE=1").code == 0
    assert len({digest(conda, place) for place in places}) == 1
    for place in places:
        intact(conda, place)


def added(conda: Conda, prefix: Path) -> set[str]:
    """Return the packages that are told as added later; nothing else may be wrong."""
    ended = conda("llmenv", "verify", "-p", str(prefix), "--integrity", "--json")
    assert ended.code == 1, ended.text
    findings = json.loads(ended.stdout)["result"]["integrity"]["findings"]
    assert {finding["problem"] for finding in findings} == {"drifted"}
    return {owner["name"] for finding in findings for owner in finding["owners"]}


def test_conda_goes_on(conda: Conda, tmp_path: Path) -> None:
    """What ``conda install`` and ``remove`` change in an environment of ours is told as changed, and is no damage."""
    prefix = tmp_path / "envs" / "ours"
    assert conda("llmenv", "create", "-p", str(prefix), "-y", "python", "click").code == 0
    before = digest(conda, prefix)
    assert conda("install", "-p", str(prefix), "-y", "numpy").code == 0
    assert "numpy" in added(conda, prefix)
    subprocess.run([prefix / "bin" / "python", "-B", "-c", "import numpy, click"], check=True, env={})
    assert "numpy" in added(conda, prefix)
    assert digest(conda, prefix) != before
    assert conda("remove", "-p", str(prefix), "-y", "numpy").code == 0
    intact(conda, prefix)
    assert digest(conda, prefix) == before


def test_conda_that_links_or_copies(conda: Conda, tmp_path: Path) -> None:
    """Hard links, copies or symbolic links into the cache are one environment."""
    packages = ("python", "six", "prefix-demo")
    hard = by_conda(conda, tmp_path / "hard", *packages)
    copied = by_conda(conda, tmp_path / "copied", *packages, CONDA_ALWAYS_COPY="true")
    soft = by_conda(conda, tmp_path / "soft", *packages, CONDA_ALWAYS_SOFTLINK="true", CONDA_ALLOW_SOFTLINKS="true")
    assert (soft / "share" / "ca-certificates" / "about.txt").is_symlink()
    assert len({digest(conda, place) for place in (hard, copied, soft)}) == 1
    for place in (hard, copied, soft):
        intact(conda, place)


def test_what_conda_calls_altered_we_do_too(conda: Conda, tmp_path: Path) -> None:
    """One byte in a file of a noarch package, whose paths conda notes as they are in the archive."""
    prefix = by_conda(conda, tmp_path / "envs" / "a", "python", "click", CONDA_ALWAYS_COPY="true")
    (core,) = prefix.glob("lib/python3*/site-packages/click/core.py")
    content = bytearray(core.read_bytes())
    content[100] ^= 1
    core.write_bytes(content)
    ended = conda("llmenv", "verify", "-p", str(prefix), "--integrity", "--json")
    assert ended.code == 1
    (finding,) = json.loads(ended.stdout)["result"]["integrity"]["findings"]
    assert finding["path"] == str(core.relative_to(prefix))
    assert finding["owners"] == [{"tool": "conda", "name": "click", "version": "8.1.8"}]
