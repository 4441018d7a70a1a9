"""The variables that a program sees after ``conda activate PREFIX``, worked out now and without conda.

The rules are in :mod:`conda_llmenv.entering`; here they meet this program's notices and errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from conda_llmenv.entering import rules
from conda_llmenv.entering.failing import Failed
from conda_llmenv.errors import PrefixError
from conda_llmenv.model import Notice
from conda_llmenv.ports import CommandRunner
from conda_llmenv.redact import mask

SECONDS = 30.0
"""How long the scripts of one environment may take together."""


class Activated(Struct, frozen=True):
    """What a program started in an environment sees, and what a person should know of how that came about."""

    environ: Mapping[str, str]
    notices: tuple[Notice, ...] = ()


def activated_environ(
    prefix: Path, environ: Mapping[str, str], run: CommandRunner, *, limit: float = SECONDS
) -> Activated:
    """Return the variables of an activated environment; see :func:`conda_llmenv.entering.rules.enter`.

    What scripts leave running in the shell's process group is ended with it.

    Args:
        prefix: the environment, whoever made it.
        environ: the variables of the calling shell.
        run: starts the shell for the scripts.
        limit: seconds that the scripts may take together.

    Raises:
        PrefixError: a file with variables is broken (conda would fail, too), or a script hangs or replaces the shell.
    """
    try:
        values, notes = rules.enter(str(prefix), environ, run, limit=limit)
    except Failed as failure:
        raise PrefixError(
            mask(failure.message), details=[mask(line) for line in failure.details], hint=failure.hint
        ) from failure
    return Activated(values, tuple(Notice(note.code, mask(note.message), hint=note.hint) for note in notes))
