"""The journal of a change to a prefix: it lies beside the prefix, so that it survives whatever happens to it.

Layout, in the parent of the prefix ``env``::

    .env.llmenv.lock      who is at work (absent when nobody is)
    .env.llmenv/          the work folder of one change (absent when nothing is under way)
        journal.json      written first, removed last
        old/              the environment that is being replaced
        doomed-…/         what is being deleted

The old environment lies one level deeper than environments do, so that conda does not list it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import Owner
from conda_llmenv.plain_files import flush
from conda_llmenv.prefix import owner as owners
from conda_llmenv.prefix.durable import remove_tree
from conda_llmenv.prefix.state import read_json, write_json

KINDS = ("create", "replace", "remove")


class Entry(Struct, frozen=True):
    """What is being done to a prefix.

    Attributes:
        kind: ``create``, ``replace`` or ``remove``.
        token: names this change; the state file of the new environment carries it too.
        owner: the process at work.
        folder_existed: the prefix was there before, as an empty folder.
        made_parents: folders above the prefix that were made for it, outermost first.
    """

    kind: str
    token: str
    owner: Owner
    folder_existed: bool = False
    made_parents: tuple[Path, ...] = ()


class Workplace(Struct, frozen=True):
    """The paths beside a prefix that a change of it uses."""

    prefix: Path

    @property
    def folder(self) -> Path:
        """The work folder of the change under way."""
        return self.prefix.with_name(f".{self.prefix.name}.llmenv")

    @property
    def lock(self) -> Path:
        """The lock file of the prefix."""
        return self.folder.with_name(f"{self.folder.name}.lock")

    @property
    def journal(self) -> Path:
        """The journal of the change under way."""
        return self.folder / "journal.json"

    @property
    def old(self) -> Path:
        """Where the environment that is being replaced waits."""
        return self.folder / "old"

    def open(self, entry: Entry) -> None:
        """Make the work folder and write its first file, the journal.

        Raises:
            OSError: the disk refused.
        """
        self.folder.mkdir(mode=0o700)
        write_json(self.journal, _to_json(entry))
        flush(self.folder.parent)

    def read(self) -> Entry | None:
        """Return the change that is or was under way; None if there is no journal.

        Raises:
            PrefixError: the journal is broken or of a later version, or the folder is not ours.
        """
        if self.folder.is_symlink() or (self.folder.exists() and self.folder.stat().st_uid not in (os.geteuid(), 0)):
            raise PrefixError(f"{self.folder} belongs to somebody else", hint="choose another folder with -p")
        data = read_json(self.journal)
        if data is None:
            return None
        try:
            return _from_json(data)
        except (ValueError, KeyError, TypeError) as error:
            raise PrefixError(
                f"{self.journal} cannot be read: {error}",
                hint=f"see whether {self.old} is the environment you want back, then remove {self.folder}",
            ) from error

    def doom(self, path: Path) -> Path:
        """Move ``path`` out of the way in one step, for deletion; return where it is now.

        Raises:
            OSError: it cannot be moved.
        """
        doomed = self.folder / f"doomed-{secrets.token_hex(6)}"
        path.rename(doomed)
        flush(path.parent)
        return doomed

    def close(self) -> bool:
        """Delete what is doomed, then the journal, then the folder; return whether nothing is left of it."""
        if not self.folder.exists():
            return True
        if self.old.exists():
            raise PrefixError(f"{self.old} is still needed")
        clean = [remove_tree(path) for path in self.folder.iterdir() if path != self.journal]
        return all(clean) and remove_tree(self.folder)


def _to_json(entry: Entry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "token": entry.token,
        "owner": owners.to_json(entry.owner),
        "folder_existed": entry.folder_existed,
        "made_parents": [os.fsencode(path).hex() for path in entry.made_parents],
    }


def _from_json(data: Mapping[str, Any]) -> Entry:
    if data["kind"] not in KINDS or not isinstance(data["token"], str):
        raise ValueError("it names no known change")
    return Entry(
        kind=data["kind"],
        token=data["token"],
        owner=owners.from_json(data["owner"]),
        folder_existed=bool(data["folder_existed"]),
        made_parents=tuple(Path(os.fsdecode(bytes.fromhex(text))) for text in data["made_parents"]),
    )
