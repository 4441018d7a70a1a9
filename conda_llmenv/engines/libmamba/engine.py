"""The engine of mamba's solver: libmambapy chooses, the embedded engine's client fetches and its installer links."""

from __future__ import annotations

import time

from conda_llmenv.engines.credentials import Credentials
from conda_llmenv.engines.libmamba.solving import solve
from conda_llmenv.engines.options import ClientOptions, notice_ignored
from conda_llmenv.engines.rattler.client import channel_client
from conda_llmenv.engines.rattler.solve_errors import solve_errors
from conda_llmenv.engines.rattler.stalling import silence
from conda_llmenv.engines.solved import solution
from conda_llmenv.model import InstallRequest, Solution, SolveRequest
from conda_llmenv.ports import Reporter


class LibmambaEngine:
    """Solves with libsolv through libmambapy 2, in a process of its own.

    Args:
        options: how to reach channels.
    """

    name = "libmamba"

    def __init__(self, options: ClientOptions | None = None) -> None:
        self._options = options or ClientOptions()

    def solve(self, request: SolveRequest, reporter: Reporter) -> Solution:
        """Return every record of the environment, sorted by name; see :class:`conda_llmenv.ports.Engine`."""
        started = time.monotonic()
        reporter.start("solve")
        bases = [channel.url for channel in request.channels]
        notice_ignored(self._options, reporter)
        with solve_errors(request), channel_client(self._options, bases) as client:
            stalled = silence(request, 0 if client is None else self._options.read_timeout)
            found = solve(request, client, stalled)
        return solution(map(Credentials.of(bases).restored, found), self.name, started, reporter)

    def install(self, request: InstallRequest, reporter: Reporter) -> None:
        """Download, verify and link every record with the embedded engine's installer.

        Not with libmamba's transaction: its downloads cannot be given credentials from Python, it holds the interpreter
        lock from the first byte to the last link (so neither ``given_up`` nor a signal would reach it), and it extracts
        each package with a program ``mamba-package`` that it looks for on ``PATH``.
        """
        from conda_llmenv.engines.rattler.installation import install

        install(request, reporter, self._options)
