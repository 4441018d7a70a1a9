"""``conda doctor`` looks at environments of ours with the quick level of the ladder, and leaves others alone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.conda.conftest import Conda

LAYER = "dependencies: [python, six]\nllmenv: {verify: {imports: [six]}}\n"

MARKS = ("✅", "❌")


@pytest.fixture
def made(conda: Conda, tmp_path: Path) -> Path:
    """An environment of ours called ``proj``, verified when it was made."""
    conda.write("layer.yml", LAYER)
    ended = conda("llmenv", "create", "-n", "proj", "-f", "layer.yml", "-y")
    assert ended.code == 0, ended.text
    return tmp_path / "envs" / "proj"


def doctor(conda: Conda, *options: str, target: str = "proj") -> str:
    """Return what ``conda doctor`` prints; it ends well whatever it finds."""
    ended = conda("doctor", "-n", target, *options)
    assert ended.code == 0, ended.text
    assert "Error running health check" not in ended.text
    assert "✅ File locking is supported." in ended.stdout or "llmenv" in options
    return ended.stdout


def marked(text: str) -> list[str]:
    """Return the marked lines that are ours."""
    return [line for line in text.splitlines() if line.startswith(MARKS) and " llmenv" in line]


def test_the_check_is_listed(conda: Conda) -> None:
    """``conda doctor --list`` names it, with what it does."""
    ended = conda("doctor", "--list")
    assert ended.code == 0, ended.text
    assert "  llmenv: Check that an environment made by llmenv still works on this machine" in ended.stdout


def test_an_environment_that_works(conda: Conda, made: Path) -> None:
    """One marked sentence among conda's own; every check with ``-v``."""
    told = doctor(conda)
    assert [line.partition(" pass ")[0] for line in marked(told)] == [
        "✅ llmenv: still good: nothing has changed since the"
    ]
    assert "imports" not in told
    assert "  ✓ imports: 2 of 2 modules can be imported" in doctor(conda, "llmenv", "-v")


def test_a_fault_since_then(conda: Conda, made: Path) -> None:
    """What is wrong is told in full, with what to do, and the mark is conda's for it."""
    (site,) = made.glob("lib/python3*/site-packages")
    (site / "six-0.1.dist-info").mkdir()
    (site / "six-0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: six\nVersion: 0.1\n")
    told = doctor(conda)
    (line,) = marked(told)
    assert line.startswith("❌ llmenv: failed: ")
    assert "failed: duplicates: " in told
    assert "\n  fix  " in told


def test_without_a_whole_pass_on_record(conda: Conda, made: Path) -> None:
    """A package more, and what was proved is proved no longer: it fails closed, and says what to run."""
    assert conda("install", "-n", "proj", "-y", "click").code == 0
    told = doctor(conda)
    assert marked(told)[0].startswith("❌ llmenv: failed: ")
    assert "llmenv verify -p" in told


def test_an_environment_of_condas(conda: Conda) -> None:
    """Not a word; one line where details are asked for, without a mark."""
    assert conda("create", "-n", "theirs", "-y", "python").code == 0
    assert "llmenv" not in doctor(conda, target="theirs")
    told = doctor(conda, "-v", target="theirs")
    assert marked(told) == []
    assert told.count("llmenv did not make this environment") == 1


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("llmenv/state.json", "{", "❌ llmenv could not look: "),
        ("llmenv/spec.json", "[]", "❌ llmenv could not look: "),
        ("state", "not json", "❌ llmenv could not look: "),
    ],
)
def test_broken_records(conda: Conda, made: Path, name: str, content: str, told: str) -> None:
    """The file is named, and conda's other checks go on."""
    (made / "conda-meta" / name).write_text(content)
    (line,) = marked(doctor(conda))
    assert line.startswith(told)
    assert name in line


def test_a_creation_that_never_ended(conda: Conda, made: Path) -> None:
    """Nothing is tried in half an environment."""
    path = made / "conda-meta" / "llmenv" / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "phase": "failed", "reason": "the disk was full"}))
    assert marked(doctor(conda)) == ["❌ llmenv never finished this environment: the disk was full"]


def test_an_activation_script_that_cannot_be_followed(conda: Conda, made: Path) -> None:
    """A finding with the script's name, and no traceback."""
    script = made / "etc" / "conda" / "activate.d" / "a.sh"
    script.parent.mkdir(parents=True)
    script.write_text("exec true\n")
    (line,) = marked(doctor(conda))
    assert line.startswith("❌ ")
    assert str(script) in line


def test_it_takes_seconds(conda: Conda, made: Path) -> None:
    """The quick level, with conda's own checks, without torch."""
    began = time.monotonic()
    doctor(conda)
    assert time.monotonic() - began < 8
