"""An environment of ours is compared with what was noted when it was made; an unfinished one is not intact."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.model import EnvState, Phase
from conda_llmenv.prefix.integrity.verification import check_integrity
from conda_llmenv.prefix.state import write_spec, write_state
from tests.prefix.integrity.building import SITE, install, sha256, write

NAMES = {"python": "3.11.7", "tool": "1.0", "pure": "1"}


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment with the notes that llmenv writes when it has made one."""
    prefix = install(tmp_path / "env", variables={"URL": "https://user:secret@host/x"})
    (prefix / "conda-meta" / "llmenv").mkdir()
    write_state(prefix, EnvState(Phase.CREATED, "2026-01-01T00:00:00+00:00"))
    conda = [_noted(name, version) for name, version in NAMES.items()]
    variables = {"DATA": f"{prefix}/data", "URL": "https://user:secret@host/x"}
    pip = [{"name": "theirs", "version": "2.0.0", "requirement": "theirs==2.0.0"}]
    write_spec(prefix, {"asked": {}, "conda": conda, "pip": pip, "variables": variables})
    return prefix


def _noted(name: str, version: str) -> dict[str, Any]:
    return {"name": name, "version": version, "build": "0", "sha256": sha256(f"{name}-{version}".encode()), "md5": None}


def found(prefix: Path) -> list[tuple[str, str, str, str]]:
    return [
        (one.problem.value, one.path, ", ".join(map(str, one.owners)), one.detail)
        for one in check_integrity(prefix, contents=False).findings
    ]


def test_what_is_as_noted_is_no_finding(prefix: Path) -> None:
    """Versions are compared as versions, and a secret that was not noted makes no difference."""
    assert "secret" not in (prefix / "conda-meta/llmenv/spec.json").read_text()
    assert found(prefix) == []


def _record(path: str, old: str, new: str) -> Callable[[Path], None]:
    def change(prefix: Path) -> None:
        text = (prefix / path).read_text()
        assert old in text
        (prefix / path).write_text(text.replace(old, new, 1))

    return change


def _new_distribution(prefix: Path) -> None:
    write(prefix / SITE / "new-3.dist-info/RECORD", b"new-3.dist-info/RECORD,,\n")


def _variables(**values: str) -> Callable[[Path], None]:
    def change(prefix: Path) -> None:
        path = prefix / "conda-meta/state"
        state = json.loads(path.read_text())
        path.write_text(json.dumps({**state, "env_vars": {**state["env_vars"], **values}}))

    return change


SPEC, TOOL = "conda-meta/llmenv/spec.json", "conda-meta/tool-1.0-0.json"
DRIFTS = {
    "package exchanged": (_record(TOOL, '"build": "0"', '"build": "1"'), "conda-meta/tool-1.0-1.json", "it was 1.0 0"),
    "package from elsewhere": (_record(TOOL, f'"{sha256(b"tool-1.0")}"', f'"{"0" * 64}"'), TOOL, "another package"),
    "record removed": (lambda prefix: (prefix / TOOL).unlink(), TOOL, "removed after"),
    "package added": (
        lambda prefix: write(prefix / "conda-meta/new-1-0.json", b'{"name": "new", "version": "1", "build": "0"}'),
        "conda-meta/new-1-0.json",
        "added after",
    ),
    "distribution added": (_new_distribution, SPEC, "added after"),
    "distribution gone": (lambda prefix: (prefix / SITE / "theirs-2.0.dist-info/RECORD").unlink(), SPEC, "removed"),
    "distribution exchanged": (
        lambda prefix: (prefix / SITE / "theirs-2.0.dist-info").rename(prefix / SITE / "theirs-2.1.dist-info"),
        SPEC,
        "it was 2.0.0, and is 2.1",
    ),
    "variable changed": (_variables(DATA="/elsewhere"), "conda-meta/state", "DATA has another value"),
    "variable added": (_variables(LD_PRELOAD="/tmp/x.so"), "conda-meta/state", "LD_PRELOAD was added"),
    "variables gone": (lambda prefix: (prefix / "conda-meta/state").unlink(), "conda-meta/state", "DATA was taken"),
}


@pytest.mark.parametrize(("change", "path", "says"), DRIFTS.values(), ids=DRIFTS)
def test_what_was_changed_since_is_named(prefix: Path, change: Callable[[Path], None], path: str, says: str) -> None:
    """Packages of either tool that came, went or were exchanged, and variables; no value is shown."""
    change(prefix)
    drifts = [(where, detail) for problem, where, _, detail in found(prefix) if problem == "drifted"]
    assert any(where == path and says in detail for where, detail in drifts), drifts
    assert not any("secret" in detail or "elsewhere" in detail for _, detail in drifts)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("conda-meta/llmenv/state.json", "garbage"),
        ("conda-meta/llmenv/state.json", '{"version": 1, "phase": "no such"}'),
        ("conda-meta/llmenv/spec.json", "[]"),
        ("conda-meta/llmenv/spec.json", '{"version": 1, "conda": "tool"}'),
        ("conda-meta/state", "{"),
    ],
)
def test_notes_that_cannot_be_read_are_findings(prefix: Path, path: str, content: str) -> None:
    """A check that cannot know what was made does not call it intact."""
    (prefix / path).write_text(content)
    assert [(problem, where) for problem, where, _, _ in found(prefix)] == [("altered", path)]


@pytest.mark.parametrize("name", ["state.json", "spec.json"])
def test_notes_that_are_gone_are_findings(prefix: Path, name: str) -> None:
    """One of the two without the other."""
    (prefix / "conda-meta/llmenv" / name).unlink()
    assert [(problem, where) for problem, where, _, _ in found(prefix)] == [("missing", f"conda-meta/llmenv/{name}")]


def test_of_an_environment_of_somebody_else_nothing_is_expected(tmp_path: Path) -> None:
    """What conda made has no notes of ours."""
    assert found(install(tmp_path / "env")) == []


@pytest.mark.parametrize(
    ("phase", "reason", "says"),
    [(Phase.CREATING, "", "interrupted"), (Phase.FAILED, "no space", "making it failed: no space")],
)
def test_an_unfinished_environment_is_not_intact(prefix: Path, phase: Phase, reason: str, says: str) -> None:
    """However well its files look, what a killed run left is not what was to be made."""
    write_state(prefix, EnvState(phase, "2026-01-01T00:00:00+00:00", reason=reason))
    ((problem, path, _, detail),) = found(prefix)
    assert (problem, path) == ("unfinished", "conda-meta/llmenv/state.json")
    assert says in detail


def test_a_change_under_way_is_not_intact(prefix: Path) -> None:
    """A journal beside the environment says that a run has begun and not ended."""
    prefix.with_name(f".{prefix.name}.llmenv").mkdir()
    assert [problem for problem, _, _, _ in found(prefix)] == ["unfinished"]
