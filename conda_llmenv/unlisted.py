"""An environment that is being made is not listed by conda: the one trick for it, for whoever makes or links one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

HISTORY = Path("conda-meta", "history")
"""The file by which conda knows a folder as an environment."""


def withhold_history(prefix: Path) -> None:
    """Keep conda from listing an environment that is being made, whatever a linking tool writes.

    conda asks whether ``conda-meta/history`` is a plain file; rattler makes an empty one unless something is there. A
    link to the null device satisfies the second and not the first, and whoever puts the real one there replaces the
    link. A history that is there already stays.

    Raises:
        OSError: the disk refused.
    """
    history = prefix / HISTORY
    history.parent.mkdir(parents=True, exist_ok=True)
    try:
        history.symlink_to(os.devnull)
    except FileExistsError:
        pass
    except OSError as error:  # it names the null device first, which is not the one that refused
        raise OSError(error.errno, error.strerror, str(history)) from error


def release_history(prefix: Path) -> None:
    """Take the link away again, if it is still there; the prefix may be gone already."""
    with contextlib.suppress(OSError):
        if (prefix / HISTORY).is_symlink():
            (prefix / HISTORY).unlink()
