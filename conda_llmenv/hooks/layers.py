"""``conda env create -f FILE`` for recipes, fragments and project files: composed and judged here, solved by conda."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from conda_llmenv.cli.wiring import library, open_tools
from conda_llmenv.compose import ComposeRequest, kind_of, read_fragment
from conda_llmenv.errors import LlmenvError
from conda_llmenv.hooks.environment import assume, to_conda
from conda_llmenv.hooks.errors import as_conda_errors
from conda_llmenv.model import Fragment, Notice
from conda_llmenv.pipeline.create import ALWAYS_SET
from conda_llmenv.pipeline.plan import PlanRequest, draft

FORMAT = "llmenv"
PROJECT_FILES = ("llmenv.yml", "llmenv.yaml")
CATALOGUE_FOLDERS = ("envs", "recipes")

log = logging.getLogger("conda.plugins.llmenv")


def is_ours(filename: str | None) -> bool:
    """Return whether a file is read as layers.

    It is if conda was told so (``--format llmenv``), if it is a project file, or if it is one of our files that conda's
    own reader cannot read, because it lists no dependencies itself (a recipe). A fragment with dependencies is a valid
    environment.yml and stays conda's; a person is told what conda then leaves out.
    """
    if filename is None or not Path(filename).is_file():
        return False
    path = Path(filename)
    if _asked_for() or path.name in PROJECT_FILES:
        return True
    try:
        fragment = _read(path)
    except LlmenvError:
        return False  # somebody else's file, or one that its own reader words better
    stands_on = (*fragment.fragments, *fragment.extends)
    if stands_on and fragment.specs:
        names = ", ".join(entry.value for entry in stands_on)
        log.warning("%s stands on %s, which conda does not read; `--format %s` does", filename, names, FORMAT)
    return bool(stands_on) and not fragment.specs and not fragment.has_pip_section


def compose_file(filename: str) -> Any:
    """Return conda's model of what a file and everything it stands on ask for.

    Raises:
        CondaValueError: the layers cannot be composed, or cannot work on this card and driver.
    """
    with as_conda_errors(), open_tools(quiet=True, root=project_of(Path(filename))) as tools:
        wanted = draft(PlanRequest(_request(Path(filename))), tools)
        for notice in wanted.notices:
            _tell(notice)
        assume(wanted.virtual)
        return to_conda(wanted.spec, {**ALWAYS_SET, **wanted.spec.variable_values})


def project_of(path: Path) -> Path:
    """Return the folder a file's neighbours are searched from: the one above ``envs`` or ``recipes`` it lies in."""
    folders = path.absolute().parents
    return next((folder.parent for folder in folders if folder.name in CATALOGUE_FOLDERS), folders[0])


def _request(path: Path) -> ComposeRequest:
    """Return what to stack on the base: the file, unless it is the project's own, which is there anyway."""
    return ComposeRequest(files=() if path.name in PROJECT_FILES else (path.absolute(),))


def _read(path: Path) -> Fragment:
    found = library(project_of(path))
    source = found.file(path.absolute())
    return read_fragment(replace(source, kind=kind_of(source)), found.read, found.exists)


def _asked_for() -> bool:
    from conda.base.context import context

    return str(getattr(context, "environment_specifier", "")).lower().strip() == FORMAT


def _tell(notice: Notice) -> None:
    log.warning("%s%s", notice.message, f" ({notice.hint})" if notice.hint else "")
