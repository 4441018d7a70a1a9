"""``conda env create -f environment.lock.yml``: our lockfile as conda's model of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conda_llmenv.cli.lock_files import LARGEST
from conda_llmenv.compose import merge, read_fragment
from conda_llmenv.errors import LlmenvError
from conda_llmenv.hooks.environment import to_conda
from conda_llmenv.hooks.errors import as_conda_errors
from conda_llmenv.library import default_library, read_whole
from conda_llmenv.locks.environment_lock import FILE_NAMES
from conda_llmenv.locks.header import FIRST_LINE
from conda_llmenv.locks.registry import detect


def is_lock(filename: str | None) -> bool:
    """Return whether a file is a lockfile of ours: by its name, or by its first line where it was renamed."""
    if filename is None or not Path(filename).is_file():
        return False
    path = Path(filename)
    if path.name in FILE_NAMES:
        return True
    try:
        text = read_whole(path, LARGEST).decode()
        return text.startswith(FIRST_LINE) and detect(path.name, text).name == "environment"
    except (OSError, UnicodeDecodeError, LlmenvError):
        return False


def read_lock(filename: str) -> Any:
    """Return conda's model of a lockfile; it stands on nothing else.

    Raises:
        CondaValueError: the file is not what it should be; the message starts with file and line.
    """
    with as_conda_errors():
        path = Path(filename).absolute()
        library = default_library(path.parent)
        spec = merge((read_fragment(library.file(path), library.read, library.exists),))
        return to_conda(spec, spec.variable_values)
