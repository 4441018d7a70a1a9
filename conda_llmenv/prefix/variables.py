"""The variables of an environment, where ``conda activate`` finds them: ``conda-meta/state``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conda_llmenv.activation import RESERVED, UNSET, survives_activation
from conda_llmenv.errors import InputError, PrefixError
from conda_llmenv.names import check_name
from conda_llmenv.plain_files import read_plain, write_file

STATE = Path("conda-meta", "state")
"""conda's file; not to be confused with ours in ``conda-meta/llmenv``."""

ALWAYS: Mapping[str, str] = {"PYTHONNOUSERSITE": "1"}
"""Set unless the person says otherwise: a package in ``~/.local`` must not win over the environment's own."""


def read_variables(prefix: Path) -> dict[str, str]:
    """Return the variables that activation sets.

    Raises:
        PrefixError: the file is broken; the message names it.
    """
    values = _read(prefix / STATE).get("env_vars", {})
    return {name: value for name, value in values.items() if value != UNSET}


def write_variables(prefix: Path, variables: Mapping[str, str | None]) -> None:
    """Merge ``variables`` into what the environment sets; None takes one away.

    ``PYTHONNOUSERSITE=1`` is set unless ``variables`` names it.

    Raises:
        InputError: a name or a value would not survive activation; nothing is written.
        PrefixError: the file that is there is broken.
        OSError: the disk refused.
    """
    _check(variables)
    path = prefix / STATE
    state = _read(path)
    values = {**ALWAYS, **state.get("env_vars", {})}
    for name, value in variables.items():
        if value is None:
            values.pop(name, None)
        else:
            values[name] = value
    content = {"version": 1, **state, "env_vars": values}
    write_file(path, json.dumps(content, ensure_ascii=False).encode())


def _check(variables: Mapping[str, str | None]) -> None:
    problems = []
    for name, value in variables.items():
        try:
            check_name("variable", name)
        except InputError as error:
            problems.append(f"{error.message}; {error.hint}")
        if name in RESERVED:
            problems.append(f"{name} is set by conda itself and ignored here")
        why = survives_activation(value) if value is not None else None
        if why is not None:
            problems.append(f"{name}: {why}")
    if problems:
        raise InputError(
            "variables would not survive `conda activate`",
            details=problems,
            hint="change the values in the fragment that sets them",
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_plain(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PrefixError(
            f"{path} cannot be read: {error.strerror or error}", hint="repair or remove that file"
        ) from error
    except (ValueError, RecursionError) as error:
        raise PrefixError(f"{path} cannot be read: it is no JSON text", hint="repair or remove that file") from error
    values = data.get("env_vars", {}) if isinstance(data, dict) else None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise PrefixError(f"{path} is not in conda's format", hint="repair or remove that file")
    return dict(data)
