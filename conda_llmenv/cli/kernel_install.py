"""Installs ipykernel in an environment that lacks it, with the tool that made the environment."""

from __future__ import annotations

import os
from pathlib import Path

from conda_llmenv import process
from conda_llmenv.errors import PipFailed

SECONDS = 900.0


def install_ipykernel(prefix: Path) -> None:
    """Install it.

    Raises:
        LlmenvError: it cannot be installed; the last lines of the tool are in the details.
    """
    _pip(prefix)


def _pip(prefix: Path) -> None:
    argv = [str(prefix / "bin" / "python"), "-I", "-m", "pip", "install", "--disable-pip-version-check", "ipykernel"]
    done = process.run(argv, env={**os.environ, "PYTHONNOUSERSITE": "1"}, cwd=prefix, timeout=SECONDS)
    if done.returncode:
        raise PipFailed(
            f"pip cannot install ipykernel in {prefix}",
            details=(done.stderr or done.stdout).strip().splitlines()[-5:],
            hint="install it with the tool that made the environment",
        )
