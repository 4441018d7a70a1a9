"""The one place that knows how the supported versions of conda (26.5.2 and later) differ.

26.7 extracts packages in processes of their own, which import the running program anew, report an interruption
themselves and outlive a parent that is killed; before, and where no processes can be had, it uses threads.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from conda.base.context import context
from conda.core import package_cache_data

PROCESSES = "EXTRACT_PROCESSES"
"""What conda calls the number of processes that extract."""


@contextlib.contextmanager
def extraction_in_threads() -> Iterator[None]:
    """Have conda extract packages in this process."""
    if not hasattr(package_cache_data, PROCESSES):
        yield
        return
    before = getattr(package_cache_data, PROCESSES)
    setattr(package_cache_data, PROCESSES, 1)
    try:
        yield
    finally:
        setattr(package_cache_data, PROCESSES, before)


def forget_cutoff() -> None:
    """Have conda's own policy for new packages, where it has one (26.7), computed again from the settings."""
    vars(context).pop("exclude_newer_policy", None)


@functools.cache
def solver_backend() -> Any:
    """Return the class of the configured solver.

    conda also keeps one, but that may be bound to sharded repodata, depending on the settings when it was first asked.
    """
    return context.plugin_manager.get_solver_backend()
