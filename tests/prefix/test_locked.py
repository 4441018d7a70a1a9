"""What a lock says of an environment, whoever made it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.model import EnvState, Phase
from conda_llmenv.prefix.locked import read_asked, read_locked
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
    record = {"name": "python", "version": "3.11.7", "build": "0", "channel": "https://h.example/conda-forge/linux-64"}
    (meta / "python-3.11.7-0.json").write_text(json.dumps(record))
    info = tmp_path / "lib" / "python3.11" / "site-packages" / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "INSTALLER").write_text("pip\n")
    direct = {"url": "https://tok@h.example/theirs.git", "vcs_info": {"vcs": "git", "commit_id": "0a1b2c"}}
    (info / "direct_url.json").write_text(json.dumps(direct))
    return tmp_path


def test_somebody_elses_environment(prefix: Path) -> None:
    """Channels are those the caller names; a distribution from a repository keeps its commit and loses its token."""
    locked = read_locked(prefix, ["conda-forge"])
    assert locked.packages == {"python": "3.11.7"}
    assert locked.channels == ("conda-forge",)
    assert locked.pip == ("theirs @ git+https://h.example/theirs.git@0a1b2c",)
    assert locked.facts == {"python": "3.11.7"}
    assert read_asked(prefix) is None


def test_our_own_environment(prefix: Path) -> None:
    """What was asked for gives channels in order, index lines and pins; nothing of it holds a secret."""
    write_spec(
        prefix,
        {
            "asked": ASKED,
            "channels": ["https://h.example/private", "https://h.example/conda-forge"],
            "pip": [{"name": "torch", "version": "2.13.0", "requirement": "torch==2.13.0"}],
        },
    )
    write_state(prefix, EnvState(Phase.CREATED, created="2026-11-30T12:00:00+00:00", tier="a100"))
    write_variables(prefix, {"NCCL_DEBUG": "INFO"})
    locked = read_locked(prefix)
    assert locked.channels == ("https://h.example/private", "conda-forge")
    assert locked.nodefaults
    assert locked.pip == ("--index-url https://h.example/simple", "torch==2.13.0")
    assert locked.variables == {"NCCL_DEBUG": "INFO", "PYTHONNOUSERSITE": "1"}
    assert locked.facts == {"tier": "a100", "python": "3.11.7", "date": "2026-11-30T12:00:00+00:00"}
    asked = read_asked(prefix)
    assert asked is not None
    assert asked.dependencies == ("python >=3.10",)
    assert asked.variables == {"NCCL_DEBUG": "INFO"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"vcs_info": {"vcs": "git"}}', "not json", '{"vcs_info": 3}'])
def test_an_odd_origin_file_is_no_origin(prefix: Path, text: str) -> None:
    """What does not follow PEP 610 leaves name and version, never a crash."""
    (path,) = prefix.glob("lib/python3*/site-packages/theirs-*/direct_url.json")
    path.write_text(text)
    assert read_locked(prefix).pip == ("theirs==1.0",)
