"""Options that several commands share, with conda's names and meanings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem
from msgspec import Struct

if TYPE_CHECKING:
    from conda_llmenv.compose import ComposeRequest
    from conda_llmenv.pipeline.plan import PlanRequest

Command = TypeVar("Command", bound=Callable[..., Any])


class LayerOptions(Struct, frozen=True):
    """Which layers to stack, as the options of :func:`layer_options` name them."""

    specs: tuple[str, ...]
    tier: str | None
    recipe: str | None
    files: tuple[Path, ...]
    channels: tuple[str, ...]
    override_channels: bool

    @property
    def any_layer(self) -> bool:
        """Whether anything but the base was asked for."""
        return bool(self.specs or self.tier or self.recipe or self.files)

    def compose_request(self) -> ComposeRequest:
        """Return the request these options make."""
        from conda_llmenv.compose import ComposeRequest

        return ComposeRequest(
            tier=self.tier,
            recipe=self.recipe,
            files=self.files,
            specs=self.specs,
            channels=self.channels,
            override_channels=self.override_channels,
        )


class PlanOptions(LayerOptions, frozen=True):
    """Which layers to stack and how to solve them, as :func:`layer_options` and :func:`solver_options` name it."""

    engine: str
    installer: str
    strict_channel_priority: bool
    no_channel_priority: bool
    exclude_newer: datetime | None
    offline: bool

    @property
    def channel_priority(self) -> str | None:
        """The priority asked for, None for that of the layers and the configuration."""
        return "strict" if self.strict_channel_priority else "disabled" if self.no_channel_priority else None

    def check(self) -> None:
        """Refuse options that contradict each other, or name no installer.

        Raises:
            click.UsageError, InputError: they do.
        """
        from conda_llmenv.pypi.registry import check_installer

        if self.strict_channel_priority and self.no_channel_priority:
            raise click.UsageError("--strict-channel-priority and --no-channel-priority say opposite things: give one")
        check_installer(self.installer)

    def plan_request(self) -> PlanRequest:
        """Return what these options ask to be planned; the configuration may say that there is no network."""
        from conda_llmenv.cli.wiring import user_config
        from conda_llmenv.pipeline.plan import PlanRequest

        return PlanRequest(
            self.compose_request(),
            channel_priority=self.channel_priority,
            exclude_newer=self.exclude_newer,
            offline=self.offline or user_config().offline,
        )


def json_option(command: Command) -> Command:
    """Add ``--json``: one versioned document on stdout, everything else on stderr."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")(command)


def target_options(command: Command) -> Command:
    """Add ``-n`` and ``-p``, which name the environment."""
    command = click.option("-p", "--prefix", metavar="PATH", help="Full path of the environment.")(command)
    return click.option(
        "-n", "--name", metavar="ENVIRONMENT", shell_complete=complete_environments, help="Name of the environment."
    )(command)


def output_options(command: Command) -> Command:
    """Add ``-q`` and ``-v``."""
    command = click.option("-v", "--verbose", count=True, help="Say more: `create --dry-run -v` lists every package.")(
        command
    )
    return click.option("-q", "--quiet", is_flag=True, help="Print no progress.")(command)


def confirm_option(command: Command) -> Command:
    """Add ``-y``: do not ask."""
    return click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")(command)


def layer_options(command: Command) -> Command:
    """Add what names the layers to stack: tier, recipe, files, channels and packages on the command line."""
    decorators = (
        click.option(
            "-t",
            "--tier",
            metavar="TIER",
            shell_complete=complete_names("tier"),
            help="Hardware tier, or `auto` for the one that fits this machine.",
        ),
        click.option(
            "-r", "--recipe", metavar="RECIPE", shell_complete=complete_names("recipe"), help="Workload, such as `sft`."
        ),
        click.option(
            "-f",
            "--file",
            "files",
            multiple=True,
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="A fragment or environment.yml to add, by path or by name; can be repeated.",
        ),
        click.option("-c", "--channel", "channels", multiple=True, metavar="CHANNEL", help="Channel to search first."),
        click.option("--override-channels", is_flag=True, help="Use only the channels given with -c."),
        click.argument("specs", nargs=-1, metavar="[PACKAGE]..."),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def solver_options(command: Command) -> Command:
    """Add what decides how layers are solved: engine, installer, priority, cut-off and network."""
    decorators = (
        click.option("--engine", default="auto", metavar="ENGINE", help="Solver to use; `llmenv info` lists them."),
        click.option("--installer", default="auto", metavar="NAME", help="Installer of the pip section: uv or pip."),
        click.option("--strict-channel-priority", is_flag=True, help="A channel hides those after it."),
        click.option("--no-channel-priority", is_flag=True, help="The newest version of any channel wins."),
        click.option(
            "--exclude-newer", type=click.DateTime(), metavar="DATE", help="Ignore conda packages newer than this."
        ),
        click.option("--offline", is_flag=True, help="Use caches only."),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def complete_names(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return what completes the names of a kind (``tier``, ``recipe``) at the shell."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return those names that begin like the word at hand; a tier may be ``auto`` as well."""
        from conda_llmenv.cli.wiring import library

        names = (*library().names(kind), *(("auto",) if kind == "tier" else ()))
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]

    return complete


def complete_kernels(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of the kernels that a Jupyter of this account finds."""
    import os

    from conda_llmenv.kernels.places import searched
    from conda_llmenv.kernels.reading import kernelspecs

    names = dict.fromkeys(spec.name for spec in kernelspecs(searched(os.environ)))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_environments(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the names of the environments in the folders of the person's configuration."""
    from conda_llmenv.cli.wiring import user_config
    from conda_llmenv.prefix.location import environment_names

    names = environment_names(user_config().envs_dirs)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
