"""What is verified, how far, and what verifying may touch; light, since every command that makes plans knows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from conda_llmenv.checks.check import Check
from conda_llmenv.hardware import Tables
from conda_llmenv.model import CheckResult, Fragment, Level, Notice, Phase, Report
from conda_llmenv.ports import HostReader, Prober


class Subject(Struct, frozen=True):
    """What an environment is for, as it was asked for when it was made; all empty for one that is not ours.

    Attributes:
        prefix: where it is.
        tier, recipe: names, or None.
        cuda_tier: the tier is about a card of NVIDIA's.
        settings: the merged ``verify`` settings of the layers.
        packages: names that were asked for, conda's and pip's.
        variables: what activation sets.
    """

    prefix: Path
    tier: str | None = None
    recipe: str | None = None
    cuda_tier: bool = False
    settings: Mapping[str, Any] = {}
    packages: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}

    @property
    def level(self) -> Level:
        """How far an environment of this kind has to get before it counts as verified."""
        return Level[str(self.settings.get("level", "full")).upper()]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that its layers promise to be importable."""
        return promised_modules(self.settings)


def promised_modules(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modules that ``verify`` settings promise to be importable."""
    return tuple(str(name) for name in settings.get("imports", ()))


Earlier = Callable[[Path | None, str], Iterable[Report]]
"""A prefix and a fingerprint, to the reports on record about them, newest first."""


class Watcher(Protocol):
    """Is told how far a run is."""

    def begin(self, checks: Sequence[Check]) -> None:
        """Take the checks that will each have a result, in order."""

    def stage(self, checks: Sequence[Check]) -> None:
        """Take the checks that are looked for next."""

    def result(self, result: CheckResult) -> None:
        """Take a line of the report as it stands."""


class Unwatched:
    """A watcher for runs that nobody waits for."""

    def begin(self, checks: Sequence[Check]) -> None:
        """Ignore it."""

    def stage(self, checks: Sequence[Check]) -> None:
        """Ignore it."""

    def result(self, result: CheckResult) -> None:
        """Ignore it."""


class VerifyTools(Struct, frozen=True):
    """What verifying may touch.

    Attributes:
        probe: runs a probe inside the environment.
        activation_problems: what went wrong while it was activated; one that begins with ``failed:`` ended it.
        in_force: what decides which Python runs once it is activated, and what reroutes it.
        host: reads this machine.
        tables: the dated tables of drivers, cards and frameworks.
        tier: the tier of a name, or why it cannot be read here.
        has_python: whether there is a Python in a prefix, or one is on record.
        fingerprint: hash of what is installed in a prefix.
        earlier: reports on record, newest first: those of one prefix (in the state of a fingerprint), or all of them.
        keep: puts a report on record; what could not be written comes back as notices.
        mark: notes in the environment whether it is verified and, where it is not, why.
        environ: variables of the calling shell.
        hostname: name of this machine.
        root: folder of a recorded machine; ``/`` for this one.
        folder: where a checkpoint is tried.
        watcher: is told how far the run is.
    """

    probe: Prober
    host: HostReader
    tables: Callable[[], Tables]
    tier: Callable[[str], Fragment | str]
    has_python: Callable[[Path], bool]
    fingerprint: Callable[[Path], str]
    earlier: Earlier
    keep: Callable[[Report], tuple[Notice, ...]]
    mark: Callable[[Path, Phase, str], tuple[Notice, ...]]
    environ: Mapping[str, str]
    hostname: str = ""
    root: str = "/"
    folder: str = ""
    activation_problems: tuple[str, ...] = ()
    in_force: Mapping[str, Any] = {}
    watcher: Watcher = Unwatched()


class VerifyRequest(Struct, frozen=True):
    """How far to go, and with what.

    Attributes:
        subject: the environment.
        level: checks of this level and below.
        only: ids; these whatever their level, with what they need.
        ranks: the one world size to try; None for the usual ones.
    """

    subject: Subject
    level: Level
    only: tuple[str, ...] = ()
    ranks: int | None = None
