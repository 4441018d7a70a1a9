"""The seams between use-cases and the outside world; adapters implement these, tests fake only these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from conda_llmenv.model import (
    EnvState,
    HostFacts,
    InstallRequest,
    Notice,
    PipPlan,
    PipRequest,
    PipResult,
    ProbeEnd,
    ProbeRun,
    Solution,
    SolveRequest,
    Source,
)


class Reporter(Protocol):
    """Receives progress; never decides anything. Calls may come from several threads."""

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """A stage (``solve``, ``download``, ``link``, ``pip``, ``build``, ``check``) begins, ``total`` units long."""

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """``done`` units of the stage are finished so far (absolute, not a step)."""

    def finish(self, stage: str, detail: str = "") -> None:
        """The stage is over."""

    def line(self, stage: str, text: str) -> None:
        """One line of live output of a tool (already free of secrets)."""

    def notice(self, notice: Notice) -> None:
        """A warning that belongs to the result."""


class Engine(Protocol):
    """Solves and installs conda packages.

    Raises (from both methods) only :class:`conda_llmenv.errors.LlmenvError` subclasses.
    """

    name: str

    def solve(self, request: SolveRequest, reporter: Reporter) -> Solution:
        """Return every record of the environment.

        Raises:
            Unsatisfiable: no set of records fits; its ``packages`` name the specs that take part.
            ChannelUnavailable: a channel's repodata cannot be had.
        """

    def install(self, request: InstallRequest, reporter: Reporter) -> None:
        """Download, verify (sha256) and link every record into the prefix.

        Raises:
            InstallFailed: a download, a hash or the linking failed, or ``request.given_up`` said that it is pointless;
                the prefix may hold a part.
        """


class PipInstaller(Protocol):
    """Resolves and installs a pip section."""

    name: str

    def resolve(self, request: PipRequest, reporter: Reporter) -> PipPlan:
        """Pin every stage-1 requirement with its hashes; works before the environment's Python is there.

        Raises:
            PipFailed: nothing fits, an index cannot be reached, or a source cannot be built.
        """

    def prefetch(self, plan: PipPlan, request: PipRequest, reporter: Reporter) -> None:
        """Download what stage 1 needs into the installer's cache; touches no environment. Best effort."""

    def install(self, plan: PipPlan, request: PipRequest, prefix: Path, reporter: Reporter) -> PipResult:
        """Install both stages into the prefix with its own Python, output live.

        Raises:
            PipFailed: a step failed; the last lines of the tool are in ``details``.
        """


class Library(Protocol):
    """Finds fragments, tiers, recipes and the project file by name."""

    def fragment(self, name: str) -> Source | None:
        """Return the nearest fragment of that name, or None."""

    def tier(self, name: str) -> Source | None:
        """Return the nearest tier of that name, or None."""

    def recipe(self, name: str) -> Source | None:
        """Return the nearest recipe of that name, or None."""

    def project(self) -> Source | None:
        """Return the project file of the current folder, or None."""

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the known names of a kind (``fragment``, ``tier``, ``recipe``), sorted."""

    def read(self, path: Path) -> bytes:
        """Return the bytes of a file a fragment includes.

        Raises:
            OSError: it cannot be read.
        """

    def exists(self, path: Path) -> bool:
        """Return whether a file or folder that a fragment names is there."""

    def file(self, path: Path) -> Source:
        """Return a file given by path, as a fragment.

        Raises:
            NotFoundError: it cannot be read.
        """


class HostReader(Protocol):
    """Reads the facts of this machine."""

    def __call__(self) -> HostFacts:
        """Return the facts; what cannot be read is None with a sentence in ``problems``."""


class CommandRunner(Protocol):
    """Runs a program to its end; the only way this package starts one."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float | None = None,
        on_line: Callable[[str], None] | None = None,
        stdin: str | None = None,
    ) -> CommandResult:
        """Run ``argv`` in a process group of its own; on timeout or interruption the whole group is ended."""


class CommandResult(Protocol):
    """How a program ended."""

    @property
    def returncode(self) -> int:
        """Exit status, negative for a signal."""

    @property
    def stdout(self) -> str:
        """What it wrote to stdout."""

    @property
    def stderr(self) -> str:
        """What it wrote to stderr."""

    @property
    def timed_out(self) -> bool:
        """Whether it was ended for taking too long."""


class Prober(Protocol):
    """Looks at an environment with its own Python."""

    def __call__(self, prefix: Path, run: ProbeRun, /) -> ProbeEnd:
        """Run a probe to its end, with everything it started; never raises for what it meets in the environment."""


class Transaction(Protocol):
    """One creation or replacement of a prefix: all of it or nothing of it."""

    prefix: Path

    @property
    def replaces(self) -> bool:
        """Whether an environment that was there is replaced, and comes back if this fails."""

    def __enter__(self) -> Any:
        """Lock, recover leftovers, write the journal and make the prefix in phase ``creating``."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Take everything back unless :meth:`commit` was called."""

    def set_variables(self, variables: Mapping[str, str | None]) -> None:
        """Write what activation sets before all is done: builds may fail, and what is kept then has its variables."""

    def commit(
        self,
        *,
        spec: Mapping[str, Any],
        state: EnvState,
        variables: Mapping[str, str | None],
        history_specs: Sequence[str] = (),
        command: str = ...,
    ) -> tuple[Notice, ...]:
        """Write variables, what was asked and what was made, then conda's history; from here the environment exists."""


class BeginTransaction(Protocol):
    """Opens a transaction on a prefix."""

    def __call__(self, prefix: Path, *, replace: bool, keep: bool) -> Transaction:
        """``replace`` lets an existing environment be replaced; ``keep`` leaves a failed new one for inspection."""
