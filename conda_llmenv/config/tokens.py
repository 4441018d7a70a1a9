"""Tokens that ``anaconda login`` leaves on disk, which conda adds to the addresses of that server's channels."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote_plus

from conda_llmenv.model import Origin, Sourced

_SUFFIX = ".token"
_API = re.compile(r"([./])api([./]|$)")


def anaconda_tokens(environ: Mapping[str, str], home: Path) -> dict[str, Sourced]:
    """Return the address of a server → its token, with the file it stands in.

    The file's name is the quoted address of the server's interface; its channels are at the same address with ``conda``
    in the place of ``api`` (conda/gateways/anaconda_client.py).
    """
    found: dict[str, Sourced] = {}
    for path in _files(_folder(environ, home)):
        try:
            token = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if re.fullmatch(r"[A-Za-z0-9-]+", token):
            address = unquote_plus(path.name.removesuffix(_SUFFIX))
            channels = _API.sub(r"\1conda\2", address, count=1)
            found |= dict.fromkeys((address, channels), Sourced(token, Origin(str(path))))
    return found


def _folder(environ: Mapping[str, str], home: Path) -> Path:
    named = environ.get("BINSTAR_CONFIG_DIR")
    if named:
        return Path(named) / "data"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "binstar"


def _files(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(_SUFFIX))
    except OSError:
        return
    yield from (folder / name for name in names)
