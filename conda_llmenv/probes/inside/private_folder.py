"""A folder of one probe's own that goes with it, also when it is told to end; one that was killed is cleared later."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

NAME = ".llmenv-{what}-{host}-{pid}-"


@contextlib.contextmanager
def private_folder(parent: str, what: str) -> Iterator[Path]:
    """Make a folder for this process alone and remove it at the end, whatever the end is.

    Raises:
        OSError: there can be no folder; ``errno`` says why.
    """
    host = re.sub(r"[^\w.]", "_", socket.gethostname())
    clear_left(Path(parent), NAME.format(what=what, host=host, pid="*") + "*")
    before = signal.signal(signal.SIGTERM, leave)
    folder = Path(tempfile.mkdtemp(prefix=NAME.format(what=what, host=host, pid=os.getpid()), dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(str(folder), ignore_errors=True)
        signal.signal(signal.SIGTERM, before)


def leave(number: int, _frame: FrameType | None) -> None:
    """End the process the way an exit does, so that folders are removed."""
    raise SystemExit(128 + number)


def clear_left(parent: Path, pattern: str) -> None:
    """Remove folders whose process on this machine is gone: it was killed and could not do it."""
    for folder in parent.glob(pattern):
        pid = folder.name.rsplit("-", 2)[-2]
        if pid.isdigit() and not Path("/proc", pid).exists() and Path("/proc/self").exists():
            shutil.rmtree(str(folder), ignore_errors=True)
