"""The command group, loaded lazily, and the one place where failures become messages and exit codes."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

import click

from conda_llmenv import __version__
from conda_llmenv.cli import console


class Entry(NamedTuple):
    """Where a command lives and its line in ``--help``, so that help loads none of them."""

    module: str
    attribute: str
    summary: str


COMMANDS = {
    "create": Entry("create", "create", "Compose, solve and install an environment, all of it or nothing of it."),
    "compose": Entry("compose", "compose", "Print the merged environment.yml, or explain who asked for what."),
    "tiers": Entry("tiers", "tiers", "List the hardware tiers, show one, or detect which fits this machine."),
    "recipes": Entry("recipes", "recipes", "List the workloads that can be composed."),
    "lock": Entry("lock", "lock", "Choose every package and write it down, without installing."),
    "export": Entry("export", "export", "Write what is in an environment, in any lock format."),
    "diff": Entry("diff", "diff", "Say what differs between two environments or lockfiles."),
    "list": Entry("listing", "list_environments", "List the environments on this machine, or the packages of one."),
    "info": Entry("info", "info", "Show what an environment is, or what this machine and program are."),
    "verify": Entry("verify", "verify", "Prove that an environment works on this machine."),
    "history": Entry("history", "history", "List the combinations that were verified, and what came of it."),
    "kernel": Entry("kernel", "kernel", "Register environments as Jupyter kernels, and keep them true."),
    "notebook": Entry("notebook", "notebook", "Run an environment's Jupyter server, for a browser on your laptop."),
    "diagnose": Entry("diagnose", "diagnose", "Name the faults that a training log shows, with cause and next step."),
    "remove": Entry("remove", "remove", "Remove an environment."),
    "completion": Entry("completion", "completion", "Print the completion script of a shell."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, not when help lists them."""

    entries: Mapping[str, Entry] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order a person meets them."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or None if there is no such name."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command = getattr(importlib.import_module(f"conda_llmenv.cli.{entry.module}"), entry.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry} is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and name the nearest one for a misspelling."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message}{console.did_you_mean(args[0], self.entries)}", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands from the static summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="llmenv")
def llmenv() -> None:
    """Compose, solve and install environments for training language models.

    Start with `llmenv tiers detect`, then `llmenv create --tier auto --recipe sft -n sft`.
    """


def script() -> NoReturn:
    """Run as a program of its own and leave at once.

    The interpreter's slow way out is skipped: rattler's worker threads may still be letting go of Python objects, and
    one that does so while the interpreter is taken down aborts a process that has done its work.
    """
    gc.disable()  # a run ends before collecting would pay, and start-up allocates a lot
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # full, closed, or never there
            stream.flush()
    os._exit(code)


def main(argv: Sequence[str] | None = None, *, program: str = "llmenv") -> int:
    """Run the program and return its exit code: 0 done, 1 the work failed, 2 usage, 3 not checked, 128+N a signal.

    Args:
        argv: the arguments; those of this process by default.
        program: how a person calls it, for usage lines and hints.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        result = llmenv.main(args=arguments, prog_name=program, standalone_mode=False, obj=arguments)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message())
        return 0
    except SystemExit as stop:  # how click ends a shell's question for completions
        return stop.code if isinstance(stop.code, int) else 0
    except BaseException as error:  # noqa: BLE001 - the one handler: everything a person can meet is worded here
        return console.fail(error, arguments)
    return result if isinstance(result, int) else 0
