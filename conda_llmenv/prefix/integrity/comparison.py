"""Is one path as its owners have noted it?"""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from conda_llmenv.prefix.integrity import content
from conda_llmenv.prefix.integrity.inventory import Inventory
from conda_llmenv.prefix.integrity.model import Entry, Kind, Owner, Recorded
from conda_llmenv.prefix.integrity.original import original

NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The sha256 of no bytes: what builders note for a link that leads to no file."""


class Judgement(Struct, frozen=True):
    """What one path turned out to be.

    Attributes:
        detail: what is wrong in a few words; nothing if all is well.
        told: whether anything was noted that it could be compared with.
        by: which distribution has put its own file in the place of a conda package's.
    """

    detail: str = ""
    told: bool = True
    by: Owner | None = None


def judge(inventory: Inventory, entry: Entry, *, contents: bool) -> Judgement:
    """Compare a path with what its owners have noted; it is well if it is as one of them has it."""
    noted = inventory.recorded[entry.path]
    if len(noted) == 1:
        return _compare(inventory, entry, noted[0], contents=contents)
    judgements = [_compare(inventory, entry, one, contents=contents) for one in noted]
    well = [(one, judgement) for one, judgement in zip(noted, judgements, strict=True) if not judgement.detail]
    if not well:
        return judgements[-1]
    if noted[0].owner.tool == "conda" and all(one.owner.tool == "pip" for one, _ in well):
        return Judgement(judgements[0].detail, by=well[0][0].owner)
    return Judgement(told=any(judgement.told for _, judgement in well))


def _compare(inventory: Inventory, entry: Entry, noted: Recorded, *, contents: bool) -> Judgement:
    why = _other_kind(inventory, entry, noted)
    if not why and entry.kind is Kind.FILE and noted.size not in (None, entry.size):
        why = f"it has {entry.size} bytes instead of {noted.size}"
    if not why and not entry.executable and _is_to_run(inventory, entry, noted, contents=contents):
        why = "it cannot be executed any more"
    if why or not contents:
        return Judgement(why, told=bool(noted.link) or noted.size is not None)
    try:
        if entry.kind is Kind.LINK and noted.link is not False:
            return _compare_link(inventory, entry, noted)
        return _compare_content(inventory, entry, noted)
    except OSError as error:
        return Judgement(f"it cannot be read: {error.strerror}")


def _is_to_run(inventory: Inventory, entry: Entry, noted: Recorded, *, contents: bool) -> bool:
    """Return whether a file must be executable, which no package records: a command, Python, or a program in ``bin``.

    Of a script in ``bin`` it is not known: some are there to be read by a shell.
    """
    if noted.command:
        return True
    if entry.kind is not Kind.FILE or noted.owner.tool != "conda" or not entry.path.startswith("bin/"):
        return False
    if noted.owner.name == "python" and _PYTHON.fullmatch(entry.path):
        return True
    try:
        return contents and ".so" not in entry.path and content.head(f"{inventory.prefix}/{entry.path}", 4) == _ELF
    except OSError:
        return False  # what is wrong with it is told where its content is read


_PYTHON = re.compile(r"bin/python[\d.]*t?")
_ELF = b"\x7fELF"


def _other_kind(inventory: Inventory, entry: Entry, noted: Recorded) -> str:
    if entry.kind is (Kind.LINK if noted.link else Kind.FILE) or (noted.link is None and entry.kind is not Kind.OTHER):
        return ""
    if entry.kind is Kind.LINK and noted.cached and Path(inventory.prefix, entry.path).is_file():
        return ""
    return f"it is {_A[entry.kind]} now"


_A = {Kind.FILE: "a file", Kind.LINK: "a link", Kind.OTHER: Kind.OTHER.value}


def _compare_content(inventory: Inventory, entry: Entry, noted: Recorded) -> Judgement:
    path = f"{inventory.prefix}/{entry.path}"
    checksum = noted.checksum or ("" if noted.placeholder else noted.original)
    if checksum:
        found = content.checksum(path, entry.size, noted.algorithm, follow=noted.cached)
        return Judgement("" if found == checksum else "its content is different")
    if noted.original:
        found = original(inventory, entry, noted).checksum
        return Judgement("" if found == noted.original else "its content is different")
    return Judgement(told=False)


def _compare_link(inventory: Inventory, entry: Entry, noted: Recorded) -> Judgement:
    """Judge a link by what it leads to: its target is noted nowhere, only the checksum of the file behind it.

    A file of another package may have been another version's when this one was built, so it proves nothing.
    """
    if noted.original in ("", NOTHING):
        return Judgement(told=False)
    path = Path(inventory.prefix, entry.path)
    place = os.path.relpath(os.path.realpath(path), os.path.realpath(inventory.prefix))
    behind = inventory.recorded.get(place, ())
    if not path.exists():
        return Judgement() if behind else Judgement("it leads nowhere")
    if any(one.owner == noted.owner for one in behind):
        same = any(one.original in ("", noted.original) for one in behind)
        return Judgement("" if same else "it leads to another file")
    if behind or not path.is_file():
        return Judgement(told=False)
    found = content.checksum(str(path), path.stat().st_size, follow=True)
    return Judgement("" if found == noted.original else "it leads to another file")
