"""``conda create --file pixi.lock``: a lock with addresses and hashes as conda's model of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from conda_llmenv.cli.lock_files import LockFile, read_lock_file
from conda_llmenv.errors import InputError, LlmenvError
from conda_llmenv.hooks.errors import as_conda_errors
from conda_llmenv.locks.registry import format_of

FORMATS = ("pixi", "conda-lock")
"""Exact formats that conda reads with our help only; explicit lists are its own."""


def is_exact_lock(filename: str | None) -> bool:
    """Return whether a file is such a lock."""
    if filename is None or not Path(filename).is_file():
        return False
    try:
        return read_lock_file(Path(filename)).format.name in FORMATS
    except LlmenvError:
        return False  # another file, or one that `conda llmenv create --lock` words better


def read_exact_lock(filename: str) -> Any:
    """Return conda's model of what a lock has for this platform; conda fetches the packages by hash.

    Raises:
        CondaValueError: it has nothing for this platform, or pip packages, which conda does not install from a list.
    """
    from conda.base.context import context
    from conda.misc import get_package_records_from_explicit
    from conda.models.environment import Environment

    with as_conda_errors():
        file = read_lock_file(Path(filename))
        lines = _lines(file, context.subdir)
    records = get_package_records_from_explicit(lines)
    return Environment(platform=context.subdir, explicit_packages=list(records), variables=dict(file.lock.variables))


def _lines(file: LockFile, subdir: str) -> list[str]:
    platform = file.lock.platform(subdir)
    if platform is None:
        raise InputError(f"{file.path} has nothing for {subdir}")
    if platform.pip:
        raise InputError(
            f"{file.path} has {len(platform.pip)} pip packages, and conda installs none beside a list of addresses",
            hint=f"`conda llmenv create --lock {file.path}` installs both",
        )
    text = format_of("explicit").write(replace(file.lock, platforms=(platform,)))
    return [line for line in text.splitlines() if line and not line.startswith("#")]
