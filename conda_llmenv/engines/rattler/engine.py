"""The embedded engine: py-rattler solves, downloads and links; asyncio stays behind it."""

from __future__ import annotations

import asyncio
import time

from conda_llmenv.engines.credentials import Credentials
from conda_llmenv.engines.options import ClientOptions, notice_ignored
from conda_llmenv.engines.rattler import convert, solving
from conda_llmenv.engines.rattler.client import channel_client
from conda_llmenv.engines.rattler.solve_errors import solve_errors
from conda_llmenv.engines.rattler.stalling import silence, unless
from conda_llmenv.engines.solved import solution
from conda_llmenv.model import InstallRequest, Solution, SolveRequest
from conda_llmenv.ports import Reporter


class RattlerEngine:
    """Solves with resolvo and installs with rattler's installer, in this process.

    Args:
        options: how to reach channels.
    """

    name = "rattler"

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
            found = asyncio.run(unless(solving.solve(request, client), stalled))
        credentials = Credentials.of(bases)
        records = (credentials.restored(convert.to_record(record)) for record in found)
        return solution(records, self.name, started, reporter)

    def install(self, request: InstallRequest, reporter: Reporter) -> None:
        """Download, verify and link every record into the prefix; see :class:`conda_llmenv.ports.Engine`.

        Packages whose link scripts were not run, and those that only have an MD5, are noticed. On failure or
        interruption this returns only when nothing writes into the prefix any more.
        """
        from conda_llmenv.engines.rattler.installation import install

        install(request, reporter, self._options)
