"""Installs ipykernel in an environment that lacks it, with the tool that made the environment."""

from __future__ import annotations

import os
from pathlib import Path

from conda_llmenv import process
from conda_llmenv.cli import console
from conda_llmenv.cli.wiring import environment_lock, open_tools
from conda_llmenv.errors import PipFailed
from conda_llmenv.pipeline.addition import add_packages

PACKAGE = "ipykernel"

SECONDS = 900.0


def install_ipykernel(prefix: Path, *, as_json: bool = False) -> None:
    """Install it: conda's package where conda's packages are, pip's elsewhere. What is there stays as it is.

    Raises:
        LlmenvError: it cannot be installed.
    """
    if any((prefix / "conda-meta").glob("*.json")):
        from conda_llmenv.prefix.protection import check_unprotected

        check_unprotected(prefix, "changed")
        install_with_engine(prefix, PACKAGE, as_json=as_json)
    else:
        _install_with_pip(prefix)


def install_with_engine(prefix: Path, spec: str, *, as_json: bool = False) -> None:
    """Add a conda package to an environment, and say what came with it.

    Raises:
        LlmenvError: see :func:`conda_llmenv.pipeline.addition.add_packages`.
    """
    with open_tools(as_json=as_json) as tools:
        added = add_packages(prefix, environment_lock(prefix), (spec,), tools)
    console.say(f"added {len(added)} packages: {', '.join(f'{one.name} {one.version}' for one in added)}")


def _install_with_pip(prefix: Path) -> None:
    argv = [str(prefix / "bin" / "python"), "-I", "-m", "pip", "install", "--disable-pip-version-check", PACKAGE]
    done = process.run(argv, env={**os.environ, "PYTHONNOUSERSITE": "1"}, cwd=prefix, timeout=SECONDS)
    if done.returncode:
        raise PipFailed(
            f"pip cannot install {PACKAGE} in {prefix}",
            details=(done.stderr or done.stdout).strip().splitlines()[-5:],
            hint="install it with the tool that made the environment",
        )
