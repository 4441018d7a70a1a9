"""Where a person's, or a team's, reports are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs
from msgspec import Struct

VARIABLE = "LLMENV_HISTORY"
"""Names the folder, whatever is configured."""

SETTING = "llmenv_history"


class HistoryFolder(Struct, frozen=True):
    """A folder of reports.

    Attributes:
        path: absolute.
        asked: what named it, such as ``LLMENV_HISTORY``; empty for the person's own folder, which is made where it is
            missing. A folder that somebody named may be on a disk that is not mounted now, so its parent is never made.
    """

    path: Path
    asked: str = ""


def history_folder(environ: Mapping[str, str], configured: Path | None = None) -> HistoryFolder:
    """Return the folder that the variable names, else the configured one, else the person's own.

    Args:
        environ: the environment.
        configured: ``llmenv_history`` of the configuration: an absolute path; None where it is not set.
    """
    named = environ.get(VARIABLE, "").strip()
    if named:
        return HistoryFolder(Path(os.path.abspath(os.path.expanduser(named))), VARIABLE)  # noqa: PTH100, PTH111 - links stay as written
    if configured is not None:
        return HistoryFolder(configured, SETTING)
    return HistoryFolder(platformdirs.user_data_path("llmenv", appauthor=False) / "history")
