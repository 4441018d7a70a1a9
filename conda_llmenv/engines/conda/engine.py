"""The conda engine: conda's own solver plugin, transaction, package caches and plugins, in this process."""

from __future__ import annotations

import time

from conda_llmenv.engines.conda import linking, solving
from conda_llmenv.engines.conda.install_errors import install_errors
from conda_llmenv.engines.conda.solve_errors import solve_errors
from conda_llmenv.engines.solved import solution
from conda_llmenv.model import InstallRequest, Solution, SolveRequest
from conda_llmenv.ports import Reporter


class CondaEngine:
    """Solves with the solver that conda is configured to use, and installs as ``conda install`` does.

    conda's context is changed while one of the methods runs and is afterwards what it was; conda itself prints nothing
    meanwhile. Works inside a ``conda`` command as well as in any Python that can import conda.
    """

    name = "conda"

    def solve(self, request: SolveRequest, reporter: Reporter) -> Solution:
        """Return every record of the environment, sorted by name; see :class:`conda_llmenv.ports.Engine`."""
        started = time.monotonic()
        reporter.start("solve")
        with solve_errors(request):
            records = solving.solve(request, reporter)
        return solution(records, self.name, started, reporter)

    def install(self, request: InstallRequest, reporter: Reporter) -> None:
        """Download, verify and link every record into the prefix; see :class:`conda_llmenv.ports.Engine`.

        Link scripts of packages run, as always with conda.
        """
        with install_errors(request):
            linking.install(request, reporter)
