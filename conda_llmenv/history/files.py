"""Files in a folder that others may write to as well, perhaps from other machines at the same moment."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from conda_llmenv.plain_files import write_file

PRIVATE = 0o600
SHARED = 0o644
"""Permissions before the umask, for a folder that others may list."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def publish(path: Path, content: bytes) -> None:
    """Write a file in one step; it may be read by whoever may look into its folder.

    Raises:
        OSError: the disk refused; nothing of it is left.
    """
    write_file(path, content, mode=SHARED if path.parent.stat().st_mode & _OTHERS else PRIVATE)


def why(error: OSError) -> str:
    """Return the reason for a failure as half a sentence."""
    return "it is a link" if error.errno == errno.ELOOP else error.strerror or str(error)
