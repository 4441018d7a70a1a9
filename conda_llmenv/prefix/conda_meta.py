"""The records in ``conda-meta``, one a conda package, with as many of their fields as a caller asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from conda_llmenv.errors import PrefixError
from conda_llmenv.prefix.durable import disk_errors

Fields = TypeVar("Fields", bound=msgspec.Struct)


def decode_records(prefix: Path, fields: type[Fields]) -> list[Fields]:
    """Return the records of an environment, by the names of their files.

    Args:
        prefix: the environment.
        fields: the struct that each record is decoded as.

    Raises:
        PrefixError: a record is broken; the message names the file.
    """
    folder = prefix / "conda-meta"
    with disk_errors("list", folder):
        files = sorted(folder.glob("*.json"))
    return [_decode(path, fields) for path in files]


def _decode(path: Path, fields: type[Fields]) -> Fields:
    try:
        return msgspec.json.decode(path.read_bytes(), type=fields)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PrefixError(
            f"{path} is broken: {error}", hint="the environment cannot be trusted; make it again with `llmenv create`"
        ) from error
