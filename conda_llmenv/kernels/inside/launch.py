"""Starts a kernel in its activated environment: ``python -I -S launch.py -m ipykernel_launcher -f FILE``.

Copied into the folder of the kernelspec, with :mod:`conda_llmenv.entering` beside it. Activation is worked out at
each start; then this process becomes the kernel, so that whatever signals it gets reach the kernel itself. Whatever
goes wrong on the way, the kernel starts, and what it has to do without is said on stderr.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, List, Mapping, Sequence

SECONDS = 10.0
"""How long activation scripts may take together; clients give up waiting for a kernel after a minute."""


class Ended:
    """How a shell ended; what it wrote to stderr has gone where the kernel's goes."""

    stderr = ""

    def __init__(self, *, timed_out: bool) -> None:
        self.timed_out = timed_out


class _All:
    """Every script."""

    def __contains__(self, script: object) -> bool:
        return True


def main() -> None:
    """Become the kernel."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for what a kernel runs, and none runs yet
    here = os.path.dirname(os.path.abspath(__file__))
    prefix = os.path.dirname(os.path.dirname(sys.executable))
    environ = dict(os.environ)
    environ.pop("PYTHONHOME", None)  # that of the Python the client runs in
    try:
        environ = entered(here, prefix, environ)
    except Exception as error:
        say(f"{prefix} could not be activated ({type(error).__name__}: {error}); only its commands are on PATH")
        environ["PATH"] = os.path.join(prefix, "bin") + os.pathsep + environ.get("PATH", os.defpath)
        environ["CONDA_PREFIX"] = prefix
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], environ)  # noqa: S606 - to become the kernel


def entered(here: str, prefix: str, environ: Mapping[str, str]) -> Dict[str, str]:
    """Return the variables of the activated environment, without a script that hangs, or without any if more do."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, here)
    rules = importlib.import_module("entering.rules")
    failing = importlib.import_module("entering.failing")
    left_out: List[str] = []
    for limit, without in ((SECONDS, left_out), (SECONDS / 2, left_out), (SECONDS, _All())):
        try:
            values, notes = rules.enter(prefix, environ, run, limit=limit, without=without)
        except failing.Failed as failure:  # noqa: PERF203 - three rounds at most
            if not failure.script:
                raise
            say(f"{failure.message}; the kernel starts without it")
            left_out.append(failure.script)
        else:
            for note in notes:
                say(note.message)
            return dict(values)
    raise RuntimeError("its activation scripts hang")


def say(text: str) -> None:
    """Tell whoever reads the log of the client."""
    sys.stderr.write(f"llmenv: {text}\n")
    sys.stderr.flush()


def run(argv: Sequence[str], *, env: Mapping[str, str], timeout: float) -> Ended:
    """Run a shell in this process's own group, so that a client that ends the kernel ends it, too."""
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1)]
    pid = os.posix_spawn(argv[0], list(argv), dict(env), file_actions=quiet)  # loading subprocess would take 10 ms
    end, pause = time.monotonic() + timeout, 0.0005
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            for started in (*descendants(pid), pid):
                kill(started)
            os.waitpid(pid, 0)
            return Ended(timed_out=True)
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return Ended(timed_out=False)


def kill(pid: int) -> None:
    """End a process that may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> Iterator[int]:
    """Yield what a process has started, and what that has; there is nothing to be seen without /proc."""
    parents = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:
                    parents[int(name)] = int(stream.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue  # it ended meanwhile
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            break
        found |= more
        yield from more


if __name__ == "__main__":
    main()
