"""Installs ipykernel in an environment that lacks it: conda's package where conda's are, pip's elsewhere."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from conda_llmenv import process
from conda_llmenv.cli import console
from conda_llmenv.cli.wiring import environment_lock, lock_timeout, open_tools
from conda_llmenv.errors import LlmenvError, PipFailed
from conda_llmenv.pipeline.addition import add_packages
from conda_llmenv.prefix.conda_meta import decode_records

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
        try:
            install_with_engine(prefix, PACKAGE, as_json=as_json)
        except LlmenvError as error:
            pip = f"{shlex.quote(str(prefix / 'bin' / 'python'))} -m pip install {PACKAGE}"
            error.hint = "\n      ".join(filter(None, (error.hint, f"or take pip's package: {pip}")))
            raise
    else:
        _install_with_pip(prefix)


def install_with_engine(prefix: Path, spec: str, *, as_json: bool = False) -> None:
    """Add a conda package to an environment, and say what came with it.

    Raises:
        LlmenvError: see :func:`conda_llmenv.pipeline.addition.add_packages`.
    """
    from conda_llmenv.prefix.journal import Workplace
    from conda_llmenv.prefix.lock import FolderLock

    lock = FolderLock(Workplace(prefix).lock, what=str(prefix), timeout=lock_timeout(), on_wait=console.say)
    with open_tools(as_json=as_json) as tools, lock:
        added = add_packages(prefix, environment_lock(prefix), (spec,), tools, requested=tuple(_requested(prefix)))
    console.say(f"added {len(added)} packages: {', '.join(f'{one.name} {one.version}' for one in added)}")


class _Asked(Struct):
    """The part of a record in ``conda-meta`` that says what somebody asked for."""

    requested_specs: tuple[str, ...] = ()


def _requested(prefix: Path) -> Iterator[str]:
    for record in decode_records(prefix, _Asked):
        yield from (spec for spec in record.requested_specs if spec and spec != "None")


def _install_with_pip(prefix: Path) -> None:
    argv = [str(prefix / "bin" / "python"), "-I", "-m", "pip", "install", "--disable-pip-version-check", PACKAGE]
    done = process.run(argv, env={**os.environ, "PYTHONNOUSERSITE": "1"}, cwd=prefix, timeout=SECONDS)
    if done.returncode:
        raise PipFailed(
            f"pip cannot install {PACKAGE} in {prefix}",
            details=(done.stderr or done.stdout).strip().splitlines()[-5:],
            hint="install it with the tool that made the environment",
        )
