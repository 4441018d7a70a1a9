"""The ports a use-case works with, wired once by the command line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from msgspec import Struct

from conda_llmenv.hardware import Tables
from conda_llmenv.model import Channel, Notice, Sourced
from conda_llmenv.pipeline.verify_tools import VerifyTools
from conda_llmenv.ports import BeginTransaction, CommandRunner, Engine, HostReader, Library, PipInstaller, Reporter

ResolveChannels = Callable[[tuple[str, ...], bool], tuple[Channel, ...]]
"""Channel names in order, and whether ``nodefaults`` was asked for, to the channels a solve reads."""

DescribeChannel = Callable[[Channel], str]
"""A channel to the line that says which rule of which configuration file gave it its address."""

FindAltered = Callable[[Path, Collection[str]], Mapping[str, tuple[str, ...]]]
"""A prefix and names of distributions to those whose files are not as their wheels list them, and these files."""


class Caches(Struct, frozen=True):
    """Folders that outlive a run: extracted packages and repodata."""

    packages: Path
    repodata: Path


class Silent:
    """A reporter for work that a person does not wait for, such as solving once more to prove a change."""

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Ignore it."""

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Ignore it."""

    def finish(self, stage: str, detail: str = "") -> None:
        """Ignore it."""

    def line(self, stage: str, text: str) -> None:
        """Ignore it."""

    def notice(self, notice: Notice) -> None:
        """Ignore it."""


class Tools(Struct, frozen=True):
    """Everything a use-case may touch.

    Attributes:
        library: finds fragments, tiers and recipes.
        host: reads this machine.
        engine: constructs the conda side on first use, so that composing never loads a solver.
        engine_reason: why it is this engine, in a sentence.
        pip: constructs the pip side on first use.
        begin: opens a transaction on a prefix.
        run: starts programs.
        stop: ends every program that ``run`` has started and that is still at work.
        resolve_channels: channel names to URLs by the person's configuration.
        describe_channel: where a channel's address comes from, in one line without secrets.
        find_altered: compares what pip or uv has installed with the hashes in its wheels.
        caches: where downloads are kept.
        reporter: receives progress.
        environ: the environment variables of this run.
        scratch: makes a private temporary folder that is removed at the end of the run.
        verify: an environment to the tools that check it.
        tables: the dated tables of drivers, cards and frameworks, with the person's own entries over them.
        indexes: the package indexes of the person's pip configuration.
        channel_priority: what the person's configuration says, where no fragment does; None for nothing.
        default_tier: the tier that the configuration names for where nobody asks for one, with its place.
        warnings: what was noticed while the tools were put together.
    """

    library: Library
    host: HostReader
    engine: Callable[[], Engine]
    engine_reason: Callable[[], str]
    pip: Callable[[], PipInstaller]
    begin: BeginTransaction
    run: CommandRunner
    stop: Callable[[], None]
    resolve_channels: ResolveChannels
    describe_channel: DescribeChannel
    find_altered: FindAltered
    caches: Caches
    reporter: Reporter
    environ: Mapping[str, str]
    scratch: Callable[[], Path]
    verify: Callable[[Path], VerifyTools]
    tables: Callable[[], Tables]
    indexes: Callable[[], tuple[str, ...]]
    channel_priority: str | None = None
    default_tier: Sourced | None = None
    warnings: tuple[Notice, ...] = ()
