"""conda's way in. Loaded on every conda call, so nothing is imported here but conda's own hook types."""

from __future__ import annotations

from collections.abc import Iterator

from conda.plugins import hookimpl
from conda.plugins.types import CondaSubcommand


@hookimpl
def conda_subcommands() -> Iterator[CondaSubcommand]:
    """Add ``conda llmenv``; without a parser of conda's the whole argv reaches click."""
    yield CondaSubcommand(
        name="llmenv",
        summary="Compose, check and create environments for training language models.",
        action=_run,
    )


def _run(arguments: tuple[str, ...]) -> int:
    from conda_llmenv.cli.main import main

    return main(arguments)
