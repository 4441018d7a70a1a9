"""What a lock or an export leaves out is told: secrets by the name of their variable, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program import Ended, Program

CANARY = "c4n4ry0123456789c4n4ry0123456789"
LAYER = f"""\
channels: [conda-forge, nodefaults]
dependencies: [python, six]
variables: {{HF_TOKEN: {CANARY}, API_KEY: {CANARY}, GH_NOTE: ghp_{CANARY}, NCCL_DEBUG: INFO}}
"""
NAMED = "API_KEY, GH_NOTE, HF_TOKEN; set them by hand"


@pytest.fixture
def made(llmenv: Program, prefix: Path) -> Program:
    """The program beside an environment with variables that hold a secret."""
    llmenv.write("llmenv.yml", LAYER)
    assert llmenv("create", "-p", prefix).code == 0
    return llmenv


def told(ended: Ended) -> str:
    """Return what a run that went well said on stderr; the secret is nowhere."""
    assert ended.code == 0, ended.text
    assert CANARY not in ended.text
    return " ".join(ended.stderr.split())


def test_a_lock_names_the_secrets_it_leaves_out(llmenv: Program) -> None:
    """Once, however many files are written; and none of them holds one."""
    llmenv.write("llmenv.yml", LAYER)
    said = told(llmenv("lock", "--format", "environment", "--format", "pixi"))
    assert said.count(NAMED) == 1
    assert "vars set -n NAME API_KEY=…" in said
    for name in ("environment.lock.yml", "pixi.lock"):
        text = (llmenv.cwd / name).read_text()
        assert CANARY not in text
        assert "NCCL_DEBUG" in text


@pytest.mark.parametrize("options", ["", "--asked", "--format explicit", "--format pixi"])
def test_an_export_names_the_secrets_it_leaves_out(made: Program, prefix: Path, options: str) -> None:
    """What is there and what was asked for, in any format."""
    assert told(made("export", "-p", prefix, *options.split())).count(NAMED) == 1


def test_the_rest_says_no_secret_either(made: Program, prefix: Path) -> None:
    """Nor do ``info`` and a comparison with a lock."""
    told(made("info", "-p", prefix, "--json"))
    told(made("export", "-p", prefix, "-o", "environment.lock.yml"))
    told(made("diff", prefix, "environment.lock.yml"))


def test_odd_metadata_is_left_out_and_told(made: Program, prefix: Path) -> None:
    """Each command goes on with what can be read."""
    (packages,) = prefix.glob("lib/python3*/site-packages")
    for name, metadata in (("odd", b"Name: \xff\n"), ("evil", b"Name: evil\nVersion: 2.0 --index-url=x\n")):
        info = packages / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_bytes(metadata)
        (info / "INSTALLER").write_text("pip\n")
    for command in ("list", "export", "export --format constraints"):
        ended = made(*command.split(), "-p", prefix)
        shown = told(ended)
        assert "odd-1.0.dist-info is left out" in shown
        assert "evil-1.0.dist-info is left out" in shown
        assert "--index-url" not in ended.stdout
    told(made("info", "-p", prefix, "--digest"))
    assert "Traceback" not in made("diff", prefix).text
