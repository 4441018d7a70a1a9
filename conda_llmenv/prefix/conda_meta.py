"""The records in ``conda-meta``, one a conda package, with as many of their fields as a caller asks for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

import msgspec

from conda_llmenv.errors import PrefixError
from conda_llmenv.plain_files import read_plain
from conda_llmenv.prefix.durable import disk_errors

Fields = TypeVar("Fields", bound=msgspec.Struct)

RULES = {
    "name": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}"),
    "version": re.compile(r"[A-Za-z0-9_.!+~-]{1,199}"),
    "build": re.compile(r"[A-Za-z0-9_.+!~-]{0,199}"),
    "subdir": re.compile(r"[A-Za-z0-9_-]{0,63}"),
}
"""What conda takes for each part of a package's identity; anything else could say more where it is written."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}:/\S+")


def check_identity(package: object) -> None:
    """Refuse a package whose name, version, build or subdir, as far as it has them, is none.

    Raises:
        ValueError: one is not; the text is the reason.
    """
    for part, rule in RULES.items():
        value = getattr(package, part, "")
        if value != "" and not rule.fullmatch(value):
            raise ValueError(f"{value[:80]!a} is no {part}")


def clean_address(url: str | None) -> str:
    """Return an address as one word, its blanks encoded; empty for anything else, as one with control characters."""
    if not url or not url.isprintable():
        return ""
    address = url.replace(" ", "%20")
    return address if _ADDRESS.fullmatch(address) else ""


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
        record = msgspec.json.decode(read_plain(path), type=fields)
        check_identity(record)
    except OSError as error:
        raise PrefixError(
            f"cannot read {path}: {error.strerror or error}",
            hint="the environment cannot be trusted; make it again with `llmenv create`",
        ) from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise PrefixError(
            f"{path} is broken: {error}", hint="the environment cannot be trusted; make it again with `llmenv create`"
        ) from error
    return record
