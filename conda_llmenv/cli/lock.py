"""``llmenv lock``: choose every package for one platform or several, write it down, install nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import PlanOptions, json_option, layer_options, output_options, solver_options

if TYPE_CHECKING:
    from conda_llmenv.cli.lock_files import LockFile
    from conda_llmenv.model import Lock
    from conda_llmenv.pipeline.tools import Tools

DEFAULT_FORMATS = ("environment", "pixi")
"""One for people and other platforms, one that is exact."""


class LockOptions(PlanOptions, frozen=True):
    """The options of ``lock``, typed."""

    platforms: tuple[str, ...]
    formats: tuple[str, ...]
    folder: Path
    only_check: bool
    update: tuple[str, ...]
    quiet: bool
    verbose: int
    as_json: bool


@click.command()
@layer_options
@click.option(
    "--platform",
    "--subdir",
    "platforms",
    multiple=True,
    metavar="PLATFORM",
    help="Platform to lock for, such as linux-aarch64; can be repeated. This machine's by default.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="FORMAT",
    help="Format to write; can be repeated. `environment` and `pixi` by default.",
)
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    metavar="FOLDER",
    help="Where the lockfiles go, the current folder by default.",
)
@click.option(
    "--check", "only_check", is_flag=True, help="Say whether the lockfiles there still fit, and change nothing."
)
@click.option("--update", multiple=True, metavar="PACKAGE", help="Move this package, what it must, and nothing else.")
@solver_options
@output_options
@json_option
def lock(**options: Any) -> int:
    """Choose every package and write it down, without installing.

    Takes the same layers as `create`; `llmenv create --lock FILE` makes the environment.
    """
    from conda_llmenv.cli.wiring import open_tools

    chosen = LockOptions(**options)
    if not (chosen.any_layer or Path("llmenv.yml").is_file()):
        raise click.UsageError("nothing to lock: give a --recipe, a --tier, a -f FILE or packages")
    chosen.check()
    if chosen.only_check and chosen.update:
        raise click.UsageError("--check changes nothing, and --update does: give one of them")
    with open_tools(
        quiet=chosen.quiet, as_json=chosen.as_json, engine=chosen.engine, installer=chosen.installer
    ) as tools:
        return _check(chosen, tools) if chosen.only_check else _lock(chosen, tools)


def _lock(chosen: LockOptions, tools: Tools) -> int:
    from conda_llmenv.cli.created import say_plan
    from conda_llmenv.cli.lock_files import write_lock_file
    from conda_llmenv.cli.locked import lock_json, lock_notices, say_lock
    from conda_llmenv.locks.registry import format_of
    from conda_llmenv.pipeline.locking import LockRequest, make_lock

    formats = [format_of(name) for name in chosen.formats or DEFAULT_FORMATS]
    previous = _previous(chosen)
    request = LockRequest(chosen.plan_request(), chosen.platforms, previous, chosen.update)
    locked = make_lock(request, tools)
    for plan in locked.plans:
        console.warn_all(plan.notices)
    console.warn_all(notice for entry in formats for notice in lock_notices(locked.lock, entry))
    for plan in locked.plans:
        if not chosen.as_json:
            say_plan(plan)
    written = {chosen.folder / entry.file_names[0]: entry for entry in formats}
    for path, text in [(path, entry.write(locked.lock)) for path, entry in written.items()]:
        write_lock_file(path, text)
    if chosen.as_json:
        console.payload("lock", lock_json(locked.lock, tuple(written)))
    else:
        say_lock(locked.lock, written, previous)
    return 0


def _check(chosen: LockOptions, tools: Tools) -> int:
    from conda_llmenv.cli.lock_files import unchecked_files
    from conda_llmenv.pipeline.locking import misfits

    files = _existing(chosen)
    unchecked = unchecked_files(chosen.folder)
    found = {str(file.path): misfits(file.lock, chosen.plan_request(), tools) for file in files}
    fits = not any(found.values())
    if chosen.as_json:
        reasons_by_path = {path: list(reasons) for path, reasons in found.items()}
        unread = [str(path) for path in unchecked]
        console.payload("lock", {"fits": fits, "files": reasons_by_path, "unchecked": unread}, ok=fits)
        return 0 if fits else 1
    for path, reasons in found.items():
        console.out(f"{path}: {'fits' if not reasons else 'does not fit any more'}")
        for reason in reasons:
            console.out(f"  {reason}")
    for file in unchecked:
        console.out(f"{file}: not checked, it is about the pip section alone")
    if not fits:
        console.say("hint: `llmenv lock` with the same layers writes new ones; `--update PACKAGE` moves one package")
    return 0 if fits else 1


def _previous(chosen: LockOptions) -> Lock | None:
    """Return the lock to start from, where only something of it may move."""
    if not chosen.update:
        return None
    exact = [file for file in _existing(chosen) if file.format.exact]
    if not exact:
        raise click.UsageError(
            "--update needs a lock with every build: `llmenv lock --format pixi` (or conda-lock) writes one"
        )
    return exact[0].lock


def _existing(chosen: LockOptions) -> list[LockFile]:
    from conda_llmenv.cli.lock_files import find_lock_files, read_lock_file, unchecked_files

    paths = find_lock_files(chosen.folder)
    if not paths:
        unchecked = ", ".join(path.name for path in unchecked_files(chosen.folder))
        only = f" but {unchecked}, which is about the pip section alone" if unchecked else ""
        raise click.UsageError(f"there is no lockfile in {chosen.folder.absolute()}{only}; `llmenv lock` writes one")
    return [read_lock_file(path) for path in paths]
