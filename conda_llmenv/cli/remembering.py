"""Where a person's reports are; with a proof goes a lockfile, so that what was proved can be made again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from conda_llmenv.checks.verdict import proves
from conda_llmenv.errors import LlmenvError
from conda_llmenv.history.store import Store, default_store
from conda_llmenv.model import Level, Notice, Report

FORMAT = "conda-lock"
"""What :meth:`Store.keep` asks for: exact, with the packages of conda and of pip."""


def report_store(tell: Callable[[Notice], None] = lambda _notice: None) -> Store:
    """Return the reports of this person, or of the team whose folder is configured.

    Args:
        tell: called with a notice for each file that is passed over in reading.
    """
    from conda_llmenv.cli.wiring import user_config

    return default_store(os.environ, user_config().llmenv.history, tell)


def keep(store: Store, report: Report) -> tuple[Notice, ...]:
    """Put a report on record, and where it proves its environment, a lockfile of what was proved."""
    wanted = proves(report) and report.level >= Level.FULL and store.lock_of(report) is None
    return store.keep(report, _lock(report) if wanted else "")


def _lock(report: Report) -> str:
    """Return an exact lock of an environment; empty where a package has no address, or something has changed since."""
    from conda_llmenv.cli.wiring import environment_lock
    from conda_llmenv.locks.registry import format_of
    from conda_llmenv.prefix.fingerprint import fingerprint

    prefix = Path(report.prefix)
    try:
        text = format_of(FORMAT).write(environment_lock(prefix))
        return text if fingerprint(prefix) == report.fingerprint else ""
    except LlmenvError:
        return ""
