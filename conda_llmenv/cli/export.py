"""``llmenv export``: write what is in an environment, whoever made it, in any lock format."""

from __future__ import annotations

from pathlib import Path

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import json_option, target_options
from conda_llmenv.errors import InputError, NotFoundError
from conda_llmenv.model import Lock

ENVIRONMENT = "environment"
"""The format that needs no other to be named."""


@click.command()
@target_options
@click.option(
    "--format", "format_name", metavar="FORMAT", help="Format; told by the name of --output, else `environment`."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to write; printed on stdout otherwise.",
)
@click.option("--asked", is_flag=True, help="What was asked for, instead of everything that is there.")
@click.option("--require-hashes", is_flag=True, help="Refuse where a package has no sha256.")
@json_option
def export(
    name: str | None,
    prefix: str | None,
    format_name: str | None,
    output: Path | None,
    *,
    asked: bool,
    require_hashes: bool,
    as_json: bool,
) -> None:
    """Write what is in an environment, in any lock format.

    No prefix and no credentials are written. `environment` has names and versions; formats that are exact have builds,
    addresses and hashes.
    Formats: environment, pixi, conda-lock, explicit, pylock, requirements, constraints.
    """
    from conda_llmenv.cli.lock_files import format_for, write_lock_file
    from conda_llmenv.cli.locked import lock_notices
    from conda_llmenv.cli.wiring import environment_lock, existing_prefix, user_config
    from conda_llmenv.locks.registry import format_of
    from conda_llmenv.prefix.locked import environment_notices
    from conda_llmenv.prefix.unfinished import refuse_unfinished

    if asked:
        _check_asked(output, format_name, require_hashes=require_hashes)
    where = existing_prefix(name, prefix, user_config())
    refuse_unfinished(where, "exported")
    if asked:
        text, entry_name = _asked(where), ENVIRONMENT
    else:
        entry = format_for(output, format_name) if output is not None else format_of(format_name or ENVIRONMENT)
        lock = environment_lock(where)
        if require_hashes:
            _refuse_unhashed(lock, where)
        text, entry_name = entry.write(lock), entry.name
        console.warn_all((*environment_notices(where), *lock_notices(lock, entry)))
    if output is not None:
        write_lock_file(output, text)
    if as_json:
        console.payload(
            "export",
            {"prefix": str(where), "format": entry_name, "file": str(output) if output else None, "text": text},
        )
    elif output is None:
        console.out(text.rstrip("\n"))


def _check_asked(output: Path | None, format_name: str | None, *, require_hashes: bool) -> None:
    """Refuse what ``--asked`` has no place for: it writes an environment.yml, which is neither pinned nor hashed."""
    from conda_llmenv.locks.registry import FORMATS

    told = output is not None and any(
        output.match(pattern) for entry in FORMATS.values() for pattern in entry.file_names if entry.name != ENVIRONMENT
    )
    if format_name not in {None, ENVIRONMENT} or told:
        shown = f"--format {format_name}" if format_name else f"-o {output}"
        raise click.UsageError(f"--asked writes an environment.yml, and {shown} asks for a lock: give one of them")
    if require_hashes:
        raise click.UsageError("--asked writes what was asked for, which has no hashes: leave out --require-hashes")


def _asked(prefix: Path) -> str:
    from conda_llmenv.cli.locked import secret_notices
    from conda_llmenv.locks.environment_lock import write_asked
    from conda_llmenv.prefix.locked import read_asked

    asked = read_asked(prefix)
    if asked is None:
        raise NotFoundError(
            f"llmenv did not make {prefix}, so what was asked for is not known",
            hint="leave out --asked for everything that is there; `conda export --from-history` has what conda noted",
        )
    console.warn_all(secret_notices(asked.variables))
    return write_asked(asked)


def _refuse_unhashed(lock: Lock, prefix: Path) -> None:
    from conda_llmenv.locks.exact import without_sha256

    bare = without_sha256(lock.platforms[0])
    if bare:
        raise InputError(
            f"{len(bare)} packages of {prefix} have no known sha256",
            details=[", ".join(bare)],
            hint="`llmenv lock` finds hashes in the channels and indexes; an environment knows those it was made with",
        )
