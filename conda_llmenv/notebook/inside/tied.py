"""Becomes another program that ends when the process that started it does, however that one ends.

Used as ``tied.py PARENT PROGRAM [ARGUMENT]...``. Where the system has no ``prctl`` (it is Linux's) nothing is tied.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""From ``linux/prctl.h``; kept across ``execve`` of programs that are not set-user-ID."""


def tie(parent: int) -> None:
    """Ask for SIGTERM at the parent's end; leave at once if it has come already."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            raise SystemExit(1)


if __name__ == "__main__":
    tie(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606  # an argument list of ours, no shell
