"""``conda-meta/llmenv/``: what was asked for and what state the environment is in, versioned and free of secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import EnvState, Phase
from conda_llmenv.plain_files import read_plain, write_file
from conda_llmenv.prefix import owner as owners
from conda_llmenv.redact import strip

VERSION = 1
"""Version of the files; a newer one is refused, since what it means is not known here."""

FOLDER = Path("conda-meta", "llmenv")
STATE_FILE = FOLDER / "state.json"
SPEC_FILE = FOLDER / "spec.json"

_PRIVATE = 0o600


def read_state(prefix: Path) -> EnvState | None:
    """Return the state of an environment; None if it is not one of ours.

    Raises:
        PrefixError: the file is there but is empty, broken, or of a later version; the message names it.
    """
    path = prefix / STATE_FILE
    data = read_json(path)
    return None if data is None else _state(data, path)


def write_state(prefix: Path, state: EnvState) -> None:
    """Write the state; the folder ``conda-meta/llmenv`` must exist.

    Raises:
        OSError: the disk refused.
    """
    write_json(
        prefix / STATE_FILE,
        {
            "phase": state.phase.value,
            "created": state.created,
            "reason": state.reason,
            "owner": owners.to_json(state.owner) if state.owner else None,
            "tier": state.tier,
            "recipe": state.recipe,
            "llmenv": state.llmenv,
            "facts": dict(state.facts),
        },
    )


def read_spec(prefix: Path) -> dict[str, Any] | None:
    """Return what was asked for when the environment was made, or None.

    Raises:
        PrefixError: the file is broken or of a later version.
    """
    return read_json(prefix / SPEC_FILE)


def write_spec(prefix: Path, spec: Mapping[str, Any]) -> None:
    """Write what was asked for, without the secret parts of any address in it.

    Raises:
        OSError: the disk refused.
    """
    write_json(prefix / SPEC_FILE, dict(spec))


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a versioned JSON mapping of ours, or None where the file is absent.

    Raises:
        PrefixError: it is anything else than what this version writes.
    """
    try:
        data = json.loads(read_plain(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _broken(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _broken(path, "it is no JSON text") from error
    if not isinstance(data, dict):
        raise _broken(path, "it holds no mapping")
    version = data.pop("version", None)
    if not isinstance(version, int) or version < 1:
        raise _broken(path, "it has no version number")
    if version > VERSION:
        raise PrefixError(
            f"{path} was written by a later llmenv (format {version}, known here is {VERSION})",
            hint="upgrade conda-llmenv",
        )
    return data


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a mapping as versioned JSON, secrets stripped, readable by its owner alone.

    Raises:
        OSError: the disk refused.
    """
    text = json.dumps({"version": VERSION, **_without_secrets(data)}, indent=1, allow_nan=False)
    write_file(path, f"{text}\n".encode("ascii"), mode=_PRIVATE)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return strip(value)
    if isinstance(value, Mapping):
        return {strip(str(key)): _without_secrets(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_secrets(item) for item in value]
    return value


def _state(data: Mapping[str, Any], path: Path) -> EnvState:
    try:
        return EnvState(
            phase=Phase(data.get("phase")),
            created=_text(data, "created"),
            reason=_text(data, "reason"),
            owner=owners.from_json(data["owner"]) if data.get("owner") is not None else None,
            tier=_optional_text(data, "tier"),
            recipe=_optional_text(data, "recipe"),
            llmenv=_text(data, "llmenv"),
            facts=_mapping(data, "facts"),
        )
    except (TypeError, ValueError) as error:
        raise _broken(path, str(error)) from error


def _text(data: Mapping[str, Any], key: str) -> str:
    return _optional_text(data, key) or ""


def _optional_text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{key} is no text")
    return value


def _mapping(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise TypeError(f"{key} is no mapping")
    return value


def _broken(path: Path, why: str) -> PrefixError:
    return PrefixError(
        f"{path} cannot be read: {why}",
        hint="the environment may still work; remove that file, or make the environment again",
    )
