"""What a lock says of an environment, whoever made it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import Channel, EnvState, Phase, Record
from conda_llmenv.prefix.locked import read_asked, read_lock
from conda_llmenv.prefix.state import write_spec, write_state
from conda_llmenv.prefix.variables import write_variables

ASKED: dict[str, Any] = {
    "dependencies": [{"name": "python", "specs": ["python >=3.10"]}],
    "channels": [{"name": "https://h.example/t/***/private"}, {"name": "conda-forge"}],
    "nodefaults": True,
    "pip": {"options": [{"text": "--index-url https://***@h.example/simple"}], "requirements": [{"text": "torch"}]},
    "variables": [{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "GONE", "value": None}],
}


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment with one conda package and one distribution from a repository."""
    meta = tmp_path / "conda-meta"
    (meta / "llmenv").mkdir(parents=True)
    record = {
        "name": "python",
        "version": "3.11.7",
        "build": "h0_0",
        "build_number": 0,
        "subdir": "linux-64",
        "fn": "python-3.11.7-h0_0.conda",
        "url": "https://h.example/t/tk-abc/conda-forge/linux-64/python-3.11.7-h0_0.conda",
        "channel": "https://h.example/t/tk-abc/conda-forge/linux-64",
        "sha256": "0" * 64,
        "depends": ["libc"],
        "noarch": None,
    }
    (meta / "python-3.11.7-h0_0.json").write_text(json.dumps(record))
    _distribution(tmp_path, "Theirs", "1.0")
    return tmp_path


def _distribution(prefix: Path, name: str, version: str) -> Path:
    info = prefix / "lib" / "python3.11" / "site-packages" / f"{name.lower()}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "INSTALLER").write_text("pip\n")
    direct = {"url": "https://tok@h.example/theirs.git", "vcs_info": {"vcs": "git", "commit_id": "0a1b2c"}}
    (info / "direct_url.json").write_text(json.dumps(direct))
    return info


def test_somebody_elses_environment(prefix: Path) -> None:
    """Channels are those the caller names; a distribution from a repository keeps its commit and loses its token."""
    lock = read_lock(prefix, [Channel("conda-forge", "https://h.example/conda-forge")])
    (platform,) = lock.platforms
    assert platform.records == (
        Record(
            name="python",
            version="3.11.7",
            build="h0_0",
            build_number=0,
            subdir="linux-64",
            url="https://h.example/conda-forge/linux-64/python-3.11.7-h0_0.conda",
            channel="https://h.example/conda-forge",
            file_name="python-3.11.7-h0_0.conda",
            sha256="0" * 64,
            depends=("libc",),
        ),
    )
    assert [channel.name for channel in lock.channels] == ["conda-forge"]
    assert [package.requirement for package in platform.pip] == ["theirs @ git+https://h.example/theirs.git@0a1b2c"]
    assert lock.facts == {"python": "3.11.7"}
    assert [channel.url for channel in read_lock(prefix).channels] == ["https://h.example/conda-forge"]
    assert read_asked(prefix) is None


def test_the_packages_say_platform_and_channels(prefix: Path) -> None:
    """An environment for another platform is called so; a label is part of its channel's name."""
    record = prefix / "conda-meta" / "python-3.11.7-h0_0.json"
    said = json.loads(record.read_text())
    said |= {
        "subdir": "osx-arm64",
        "url": "https://conda.anaconda.org/pytorch/label/dev/osx-arm64/python-3.11.7-h0_0.conda",
    }
    record.write_text(json.dumps(said))
    lock = read_lock(prefix, subdir="linux-64")
    assert [platform.subdir for platform in lock.platforms] == ["osx-arm64"]
    assert lock.channels == (Channel("pytorch/label/dev", "https://conda.anaconda.org/pytorch/label/dev"),)


def test_our_own_environment(prefix: Path) -> None:
    """What was asked for gives channels in order, index lines, pins and hashes; nothing of it holds a secret."""
    next(prefix.glob("lib/python3*/site-packages/theirs-*/direct_url.json")).unlink()
    write_spec(
        prefix,
        {
            "asked": ASKED,
            "channels": ["https://h.example/private", "https://h.example/conda-forge"],
            "pip": [
                {"name": "theirs", "version": "1.0", "requirement": "theirs==1.0", "hashes": ["sha256:0a"], "url": None}
            ],
        },
    )
    write_state(prefix, EnvState(Phase.CREATED, created="2026-11-30T12:00:00+00:00", tier="a100"))
    write_variables(prefix, {"NCCL_DEBUG": "INFO"})
    lock = read_lock(prefix)
    assert [channel.name for channel in lock.channels] == ["https://h.example/private", "conda-forge"]
    assert lock.nodefaults
    assert lock.specs == ("python >=3.10",)
    assert lock.pip_options == ("--index-url https://h.example/simple",)
    assert [(one.requirement, one.hashes) for one in lock.platforms[0].pip] == [("theirs==1.0", ("sha256:0a",))]
    assert lock.variables == {"NCCL_DEBUG": "INFO", "PYTHONNOUSERSITE": "1"}
    assert lock.facts == {"tier": "a100", "python": "3.11.7", "date": "2026-11-30T12:00:00+00:00"}
    asked = read_asked(prefix)
    assert asked is not None
    assert asked.dependencies == ("python >=3.10",)
    assert asked.variables == {"NCCL_DEBUG": "INFO"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"vcs_info": {"vcs": "git"}}', "not json", '{"vcs_info": 3}'])
def test_an_odd_origin_file_is_no_origin(prefix: Path, text: str) -> None:
    """What does not follow PEP 610 leaves name and version, never a crash."""
    (path,) = prefix.glob("lib/python3*/site-packages/theirs-*/direct_url.json")
    path.write_text(text)
    assert [package.requirement for package in read_lock(prefix).platforms[0].pip] == ["theirs==1.0"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": 3}', '{"name": "x", "version": "1", "depends": "y"}'])
def test_a_broken_record_is_named(prefix: Path, text: str) -> None:
    """Which file it is stands in the message."""
    (prefix / "conda-meta" / "broken-1-0.json").write_text(text)
    with pytest.raises(PrefixError, match=r"broken-1-0\.json"):
        read_lock(prefix)
