"""End or disturb a program at a chosen file operation, so that every possible crash can be tried one by one.

Two ways, with the same counting:

* :func:`run_with_fault` counts Python's own file operations by an audit hook, in a forked child: milliseconds each;
* :func:`run_under_strace` counts system calls of a whole program and its children, whatever they are written in.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

OPERATIONS = frozenset(
    {"os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate", "open"}
)
"""Audit events of Python that change a file system (``open`` only for writing)."""

SYSCALLS = "rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,symlink,symlinkat,link,linkat,fsync"
"""System calls that change names, for strace."""

_NEEDING_ROOM = frozenset({"open", "os.mkdir", "os.symlink", "os.link"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Fault:
    """What happens at the ``at``-th operation: SIGKILL, or an error (and, if ``lasting``, at every later one too).

    A lasting ENOSPC hits only what needs room: a full disk still renames and removes. EROFS hits everything.
    """

    at: int
    error: int | None = None
    lasting: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        killed: SIGKILL ended it.
        met: the fault happened at all; where it did not, ``at`` was beyond the last operation.
        failure: the class and message of what the run raised, empty if it ended well.
    """

    killed: bool
    met: bool
    failure: str = ""


def run_with_fault(action: Callable[[], None], fault: Fault) -> Outcome:
    """Run ``action`` in a forked child that meets ``fault``."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        hook = _Hook(fault)
        failure = ""
        try:
            sys.addaudithook(hook)
            action()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the parent judges it
            failure = f"{type(error).__module__}.{type(error).__name__}: {error}"
        os.write(writing, f"{int(hook.met)}{failure}".encode()[:60_000])
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        report = pipe.read()
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return Outcome(killed, killed or report.startswith("1"), report[1:])


class _Hook:
    """Counts operations and lets the fault happen."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._count = 0
        self.met = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in OPERATIONS or (event == "open" and not _writes(arguments)):
            return
        self._count += 1
        fault = self._fault
        if self._count < fault.at or (self._count > fault.at and not fault.lasting):
            return
        self.met = True
        if fault.error is None:
            os.kill(os.getpid(), signal.SIGKILL)
        elif event in _NEEDING_ROOM or fault.error != errno.ENOSPC:
            raise OSError(fault.error, os.strerror(fault.error))


def _writes(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2] if len(arguments) > 2 else 0
    return isinstance(flags, int) and bool(flags & _WRITING)


def strace_reason() -> str | None:
    """Return why strace cannot be used here, or None if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    probe = subprocess.run(["strace", "-qq", "-e", "trace=fsync", "true"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "strace may not trace here"


def syscall_points(
    argv: Sequence[str], log: Path, *, env: Mapping[str, str] | None = None, syscalls: str = SYSCALLS
) -> list[tuple[str, int]]:
    """Run the program undisturbed and return every point at which it could be killed: a system call and which one.

    strace counts each system call of each process for itself, so a point names both.
    """
    command = ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={syscalls}", "-e", "signal=none", *argv]
    subprocess.run(command, check=True, capture_output=True, env=env)
    counts: Counter[tuple[str, str]] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        call = re.match(r"(?P<pid>\d+) +(?P<name>\w+)\(", line)
        if call:
            counts[call["name"], call["pid"]] += 1
    most: dict[str, int] = {}
    for (name, _), count in counts.items():
        most[name] = max(count, most.get(name, 0))
    return [(name, at) for name, count in sorted(most.items()) for at in range(1, count + 1)]


def run_under_strace(
    argv: Sequence[str], syscall: str, fault: Fault, *, env: Mapping[str, str] | None = None, timeout: float = 120
) -> Outcome:
    """Run the program so that each process of it meets ``fault`` at its ``at``-th ``syscall``."""
    what = "signal=KILL" if fault.error is None else f"error={errno.errorcode[fault.error]}"
    when = f"{fault.at}+" if fault.lasting else str(fault.at)
    command = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={syscall}"]
    command += ["-e", f"inject={syscall}:{what}:when={when}", *argv]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env, timeout=timeout)
    killed = done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    return Outcome(killed, killed or fault.error is not None, "" if done.returncode == 0 else done.stdout + done.stderr)
