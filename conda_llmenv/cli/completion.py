"""``llmenv completion``: the script that teaches a shell our commands, options, tiers and recipes."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    For bash: eval "$(llmenv completion bash)"
    """
    from conda_llmenv.cli.main import llmenv

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion is known for {shell}")
    click.echo(found(llmenv, {}, "llmenv", "_LLMENV_COMPLETE").source())
