"""What an environment was when it was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.errors import PrefixError
from conda_llmenv.prefix.locked import read_lock
from conda_llmenv.prefix.recorded import read_recorded
from conda_llmenv.prefix.state import SPEC_FILE, write_spec

COMMIT, OTHER = "0a" * 20, "1b" * 20
SPEC: dict[str, Any] = {
    "asked": {
        "dependencies": [{"name": "python", "specs": ["python >=3.10"]}],
        "channels": [{"name": "conda-forge"}],
        "nodefaults": True,
        "pip": {
            "options": [{"text": "--index-url https://***@h.example/simple"}],
            "requirements": [{"text": "theirs"}],
        },
        "variables": [{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "PYTHONNOUSERSITE", "value": None}],
    },
    "channels": ["https://h.example/conda-forge"],
    "conda": [
        {
            "name": "python",
            "version": "3.11.7",
            "build": "h0_0",
            "subdir": "linux-64",
            "url": "https://h.example/conda-forge/linux-64/python-3.11.7-h0_0.conda",
            "sha256": "0" * 64,
            "md5": None,
        }
    ],
    "pip": [{"name": "theirs", "version": "1.0", "requirement": "theirs==1.0", "hashes": ["sha256:0a"], "url": None}],
    "input_hash": "sha256:0b",
}


def noted(prefix: Path, **changed: Any) -> Path:
    """Write what was noted of an environment."""
    (prefix / "conda-meta" / "llmenv").mkdir(parents=True, exist_ok=True)
    write_spec(prefix, {**SPEC, **changed})
    return prefix


def test_everything_that_was_noted_comes_back(tmp_path: Path) -> None:
    """Packages with channel and hash, the pip section, channels, variables and what was asked for."""
    lock = read_recorded(noted(tmp_path), subdir="linux-64")
    assert lock is not None
    (platform,) = lock.platforms
    (python,) = platform.records
    assert (python.channel, python.file_name) == ("https://h.example/conda-forge", "python-3.11.7-h0_0.conda")
    assert (python.build, python.sha256) == ("h0_0", "0" * 64)
    assert [(one.name, one.version, one.hashes) for one in platform.pip] == [("theirs", "1.0", ("sha256:0a",))]
    assert [channel.name for channel in lock.channels] == ["conda-forge"]
    assert (lock.specs, lock.nodefaults, lock.input_hash) == (("python >=3.10",), True, "sha256:0b")
    assert lock.pip_options == ("--index-url https://h.example/simple",)
    assert lock.variables == {"NCCL_DEBUG": "INFO"}, "the usual variable was asked to go"


def test_an_environment_we_did_not_make(tmp_path: Path) -> None:
    """Has no past."""
    assert read_recorded(tmp_path, subdir="linux-64") is None


BROKEN = [
    {"asked": None},
    {"asked": {"dependencies": "python"}},
    {"conda": [{"name": "x"}]},
    {"conda": [{"name": "x", "version": 1}]},
    {"pip": [{"name": "x"}]},
    {"pip": {"name": "x"}},
    {"conda": ["x"]},
]


@pytest.mark.parametrize("changed", BROKEN)
def test_broken_notes_are_named(tmp_path: Path, changed: dict[str, Any]) -> None:
    """The file, what is wrong with it, and no crash."""
    with pytest.raises(PrefixError, match=str(SPEC_FILE)) as caught:
        read_recorded(noted(tmp_path, **changed), subdir="linux-64")
    assert caught.value.hint


NAMED, FROM_GIT = "theirs==1.0", f"theirs @ git+https://h.example/theirs@{COMMIT}"
BRANCH = FROM_GIT.replace(COMMIT, "main")
ORIGINS = [
    pytest.param(NAMED, None, NAMED, id="the index, as noted"),
    pytest.param(NAMED, COMMIT, FROM_GIT, id="a commit in its place"),
    pytest.param(FROM_GIT, COMMIT, FROM_GIT, id="the commit, as noted"),
    pytest.param(FROM_GIT, OTHER, FROM_GIT.replace(COMMIT, OTHER), id="another commit"),
    pytest.param(FROM_GIT, None, NAMED, id="the index in place of a commit"),
    pytest.param(
        FROM_GIT.replace(COMMIT, "main"), COMMIT, FROM_GIT.replace(COMMIT, "main"), id="a commit of the branch"
    ),
    pytest.param("theirs[extra]==1.0", None, "theirs[extra]==1.0", id="with an extra"),
    pytest.param("theirs>=0.9 --config-settings=a=b", None, "theirs>=0.9 --config-settings=a=b", id="built here"),
]


@pytest.mark.parametrize(("requirement", "commit", "now"), ORIGINS)
def test_the_origin_of_a_distribution_is_that_of_what_is_there(
    tmp_path: Path, requirement: str, commit: str | None, now: str
) -> None:
    """``pip install git+…`` over a release of the same version shows."""
    noted(tmp_path, pip=[{"name": "theirs", "version": "1.0", "requirement": requirement}])
    info = tmp_path / "lib" / "python3.11" / "site-packages" / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Theirs\nVersion: 1.0\n")
    (info / "INSTALLER").write_text("uv\n")
    if commit is not None:
        direct = {"url": "https://h.example/theirs", "vcs_info": {"vcs": "git", "commit_id": commit}}
        (info / "direct_url.json").write_text(json.dumps(direct))
    assert [one.requirement for one in read_lock(tmp_path).platforms[0].pip] == [now]
