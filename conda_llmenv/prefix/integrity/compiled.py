"""Does a compiled file in ``__pycache__`` belong to the source beside it? Its first bytes say so, as PEP 552 has it.

Python writes these files when a source is first imported, so nobody has recorded them, or what was recorded was written
anew since. Python itself runs one whose header fits the source, so that is what can be asked; whether its code is that
source's cannot be known without the Python that compiled it.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from conda_llmenv.prefix.integrity import content
from conda_llmenv.prefix.integrity.exclusions import DERIVED_FOLDER
from conda_llmenv.prefix.integrity.inventory import Inventory
from conda_llmenv.prefix.integrity.model import Entry, Finding, Problem
from conda_llmenv.prefix.integrity.parallel import read_all
from conda_llmenv.prefix.integrity.siphash import siphash

_HEADER = struct.Struct("<4sIII")
_BY_HASH, _CHECKED = 1, 2
_ROUNDS = (1, 2)
"""Of the hash of a source, in each block: one from CPython 3.11 on, two before."""

_BEFORE_PEP_552 = re.compile(r"\.cpython-3[0-6]\.")
"""Compiled by a Python whose headers have no flags, so that the time and the size come four bytes earlier."""

NOT_COMPILED = "it is no compiled Python"
UNCHECKED = "Python runs it whatever its source says (its hash is not to be checked)"
OTHER_SOURCE = "it was compiled from another source than the one beside it"


class _Header(Struct, frozen=True):
    """What a compiled file says of its source: its hash, or its time (seconds) and size (bytes), modulo 2**32."""

    magic: bytes
    by_hash: bool
    checked: bool
    fields: tuple[int, int]


def unlike_sources(inventory: Inventory, *, contents: bool) -> Iterator[Finding]:
    """Yield the compiled files that do not belong to a source; nothing of what ordinary running leaves.

    Args:
        inventory: the environment.
        contents: read their first bytes; else only those are told that have no source and no owner.
    """
    sources = {path: source_of(path, inventory) for path in inventory.compiled}
    for path, source in sources.items():
        if source is None and path not in inventory.compiled_by:
            yield Finding(Problem.FOREIGN, path, (), "compiled, without a source")
    if not contents:
        return
    asked = [entry for path, entry in inventory.compiled.items() if sources[path] or path in inventory.compiled_by]
    for path, why in read_all(asked, partial(_why_unlike, inventory)).items():
        if why:
            noted = inventory.recorded.get(sources[path] or "", ()) or inventory.compiled_by.get(path, ())
            yield Finding(Problem.COMPILED, path, tuple(dict.fromkeys(one.owner for one in noted)), why)


def runs_unchecked(inventory: Inventory, entry: Entry) -> bool:
    """Return whether Python runs a compiled file without a look at its source, and no package has brought it so."""
    try:
        header = _header(entry.path, content.head(f"{inventory.prefix}/{entry.path}", _HEADER.size))
    except OSError:
        return False
    blind = header is not None and header.by_hash and not header.checked
    return blind and source_of(entry.path, inventory) is not None and not _is_as_packaged(inventory, entry)


def source_of(path: str, inventory: Inventory) -> str | None:
    """Return the source that a compiled file is named after, None if it is not there.

    Between the module's name and the suffix is a tag, such as ``cpython-311``, ``.opt-1`` or pytest's version.
    """
    folder, _, name = f"/{path}".rpartition(f"/{DERIVED_FOLDER}/")
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        source = f"{folder}/{'.'.join(parts[:length])}.py"[1:]
        if source in inventory.entries:
            return source
    return None


def _why_unlike(inventory: Inventory, entry: Entry) -> str:
    source = source_of(entry.path, inventory)
    path = f"{inventory.prefix}/{entry.path}"
    try:
        if source is None:
            noted = any(one.checksum for one in inventory.compiled_by[entry.path])
            return "its content is different" if noted and not _is_as_packaged(inventory, entry) else ""
        why = _unlike(_header(entry.path, content.head(path, _HEADER.size)), f"{inventory.prefix}/{source}")
        return "" if why and _is_as_packaged(inventory, entry) else why
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


def _header(path: str, data: bytes) -> _Header | None:
    """Return what the first bytes say; None where they are no header."""
    if _BEFORE_PEP_552.search(path):
        data = data[:4] + bytes(4) + data[4:12]
    if len(data) < _HEADER.size or data[2:4] != b"\r\n":
        return None
    magic, flags, first, second = _HEADER.unpack(data)
    if flags & ~(_BY_HASH | _CHECKED):
        return None
    return _Header(magic, bool(flags & _BY_HASH), bool(flags & _CHECKED), (first, second))


def _unlike(header: _Header | None, source: str) -> str:
    """Return why Python would not take a file for compiled from a source, or would not even ask.

    Raises:
        OSError: the source cannot be read.
    """
    if header is None:
        return NOT_COMPILED
    if not header.by_hash:
        facts = os.stat(source)  # noqa: PTH116 - asked for each of many thousands
        same = header.fields == (int(facts.st_mtime) & 0xFFFFFFFF, facts.st_size & 0xFFFFFFFF)
        return "" if same else OTHER_SOURCE
    if not header.checked:
        return UNCHECKED
    key, text = int.from_bytes(header.magic, "little"), Path(source).read_bytes()
    wanted = header.fields[0] | header.fields[1] << 32
    return "" if any(siphash(key, text, rounds) == wanted for rounds in _ROUNDS) else OTHER_SOURCE


def _is_as_packaged(inventory: Inventory, entry: Entry) -> bool:
    """Return whether a file has the content that its package has: its source may have got another time or the prefix.

    Raises:
        OSError: it cannot be read.
    """
    path = f"{inventory.prefix}/{entry.path}"
    return any(
        one.checksum and content.checksum(path, entry.size, one.algorithm, follow=True) == one.checksum
        for one in inventory.compiled_by.get(entry.path, ())
    )
