"""ipykernel comes into an environment that lacks it, with the tool that fits, and nothing else changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.cli.kernel_install import install_with_engine
from conda_llmenv.errors import LlmenvError
from tests.kernelenv import PACKAGES, Client, client_environ
from tests.program import Program
from tests.sharedenv import environ_of, run, why_not

SAID = ("name", "version", "build", "url", "sha256", "files", "paths_data", "requested_specs")


@pytest.fixture
def variables(llmenv: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is called here find the same channels and caches as the program."""
    for name, value in llmenv.environ.items():
        monkeypatch.setenv(name, value)


def records(prefix: Path) -> dict[str, Any]:
    """Return the conda packages of an environment, with what their records hold."""
    found = {path.name: json.loads(path.read_text()) for path in (prefix / "conda-meta").glob("*.json")}
    return {name: {key: record.get(key) for key in SAID} for name, record in found.items()}


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("maker", ["llmenv", "conda"])
def test_condas_package_where_condas_are(llmenv: Program, prefix: Path, offline_channel: Path, maker: str) -> None:
    """The package and what it needs are added; every other record says what it said."""
    if maker == "llmenv":
        assert llmenv("create", "python", "-p", prefix, "-y", "--no-verify").code == 0
    else:
        _with_conda(llmenv, prefix, offline_channel)
    before = records(prefix)
    install_with_engine(prefix, "six")
    after = records(prefix)
    assert {name: text for name, text in after.items() if name in before} == before
    assert [name for name in after if name not in before and name.startswith("six-")]
    assert subprocess.run([f"{prefix}/bin/python", "-c", "import six"], check=False).returncode == 0


@pytest.mark.usefixtures("variables")
def test_what_would_change_others_is_refused(llmenv: Program, prefix: Path) -> None:
    """An unknown package leaves everything as it is."""
    assert llmenv("create", "python", "-p", prefix, "-y", "--no-verify").code == 0
    before = records(prefix)
    with pytest.raises(LlmenvError):
        install_with_engine(prefix, "no-such-package")
    assert records(prefix) == before


def test_pips_elsewhere(llmenv: Program, offline_channel: Path, tmp_path: Path) -> None:
    """``kernel add -y`` on a virtual environment installs ipykernel and registers it; then it works."""
    reason = why_not(tmp_path, *PACKAGES)
    if reason:
        pytest.skip(reason)
    venv = tmp_path / "project/.venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    environ = environ_of(tmp_path / "other", offline_channel)
    done = run([*llmenv.argv, "kernel", "add", "-p", str(venv), "-y", "--json"], environ, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["name"] == "project"
    client = Client(venv, client_environ(Path(environ["HOME"])))
    assert client.evaluate("project", it="__import__('sys').prefix")["it"] == str(venv)


def _with_conda(llmenv: Program, prefix: Path, offline_channel: Path) -> None:
    conda = os.environ.get("CONDA_PYTHON")
    if conda is None:
        pytest.skip("CONDA_PYTHON names no Python with conda")
    where = ["--override-channels", "-c", (offline_channel / "conda-forge").as_uri()]
    argv = [conda, "-m", "conda", "create", "-y", "-q", "-p", str(prefix), *where, "python"]
    subprocess.run(argv, check=True, capture_output=True, env={**llmenv.environ, "PYTHONPATH": ""})
