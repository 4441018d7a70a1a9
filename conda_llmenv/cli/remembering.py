"""A report goes on record; with a proof goes a lockfile, so that what was proved can be made again."""

from __future__ import annotations

from pathlib import Path

from conda_llmenv.checks.verdict import proves
from conda_llmenv.errors import LlmenvError
from conda_llmenv.history.store import Store
from conda_llmenv.model import Level, Notice, Report

FORMAT = "conda-lock"
"""What :meth:`Store.keep` asks for: exact, with the packages of conda and of pip."""


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
