"""What an environment comes to, wherever it lives: equal digests on two machines mean equal environments.

It covers the conda packages (name, version, build, subdir, checksum), the Python distributions (name, version,
source), the variables that activation sets, and of every file and link its path, its owner's right to run it and its
content with the prefix taken out. :mod:`exclusions` lists what does not count, and why.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name

from conda_llmenv.errors import PrefixError
from conda_llmenv.prefix.inspect import Distribution, distributions
from conda_llmenv.prefix.integrity import commands, content
from conda_llmenv.prefix.integrity.compiled import runs_unchecked
from conda_llmenv.prefix.integrity.conda_records import to_json
from conda_llmenv.prefix.integrity.exclusions import is_installation_note
from conda_llmenv.prefix.integrity.inventory import Inventory, take_inventory
from conda_llmenv.prefix.integrity.model import Digest, Entry, Kind, Recorded
from conda_llmenv.prefix.integrity.original import original
from conda_llmenv.prefix.integrity.parallel import read_all
from conda_llmenv.prefix.variables import read_variables
from conda_llmenv.redact import strip


class Identity(NamedTuple):
    """What a path is: its kind, and the checksum of its content, its target, or the function it calls."""

    kind: str
    content: str


_COMMIT = re.compile(r"[a-z]+\+")
"""What begins the address of a repository: the name of its version control."""

SCHEME = "llmenv environment 1"
"""Counts too, so that two schemes never give the same digest."""


def compute_digest(prefix: Path) -> Digest:
    """Read an environment and return its digest.

    Raises:
        PrefixError: its records or its variables are broken, or something in it cannot be read.
    """
    inventory = take_inventory(prefix)
    counted = [*(entry for entry in inventory.entries.values() if _counts(entry, inventory)), *_unchecked(inventory)]
    identities = read_all(counted, partial(_named_identity, inventory))
    without = partial(_without_prefix, inventory.prefixes)
    parts = {
        "packages": _hash(_json(to_json(package)) for package in inventory.packages),
        "pip": _hash(sorted(_json(_distribution(one, without)) for one in distributions(prefix))),
        "variables": _hash(_json([name, without(value)]) for name, value in sorted(read_variables(prefix).items())),
        "files": _hash(_line(path, identities[path]) for path in sorted(identities)),
    }
    value = _hash([SCHEME.encode(), *(part.encode() for part in parts.values())])
    return Digest(value, parts, len(counted))


def _counts(entry: Entry, inventory: Inventory) -> bool:
    return not (is_installation_note(entry.path) and not inventory.from_conda(entry.path))


def _unchecked(inventory: Inventory) -> Iterator[Entry]:
    """Yield what Python would run in the place of a source; what it compiled from one itself does not count."""
    unchecked = read_all(inventory.compiled.values(), partial(runs_unchecked, inventory))
    yield from (entry for entry in inventory.compiled.values() if unchecked[entry.path])


def _hash(lines: Iterable[bytes]) -> str:
    state = hashlib.sha256()
    for line in lines:
        state.update(len(line).to_bytes(8, "big"))
        state.update(line)
    return state.hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def _line(path: str, identity: Identity) -> bytes:
    return b"\0".join(map(os.fsencode, (path, identity.kind, identity.content)))


def _distribution(one: Distribution, without: Any) -> list[str]:
    """Return what counts of a distribution.

    Of its source only a commit does: another format of the same lock installs a file by its name in an index or by its
    address, and what came of it is there either way.
    """
    source = without(strip(one.source)) if _COMMIT.match(one.source) else ""
    return [canonicalize_name(one.name), one.version, source]


def _without_prefix(prefixes: tuple[bytes, ...], text: str) -> str:
    pattern = content.place_pattern(prefixes, exact=False)
    return os.fsdecode(pattern.sub(lambda _: commands.PLACE, os.fsencode(text)))


def _named_identity(inventory: Inventory, entry: Entry) -> Identity:
    try:
        return _identity(inventory, entry)
    except OSError as error:
        raise PrefixError(
            f"cannot read {inventory.prefix / entry.path}: {error.strerror}",
            hint="a digest needs every file; see that this one can be read, or ask who owns the environment",
        ) from error


def _identity(inventory: Inventory, entry: Entry) -> Identity:
    """Return what a path is apart from where its environment lives.

    Raises:
        OSError: it cannot be read.
    """
    path = f"{inventory.prefix}/{entry.path}"
    noted = inventory.from_conda(entry.path)
    if entry.kind is Kind.LINK:
        if _leads_into_a_cache(inventory, entry):
            return Identity(_kind(Path(path).stat().st_mode), content.checksum(path, entry.size, follow=True))
        return Identity("link", _without_prefix(inventory.prefixes, os.fspath(Path(path).readlink())))
    if entry.kind is Kind.OTHER:
        return Identity("other", "")
    placed = next((one for one in noted if one.placeholder), None)
    if placed is not None:
        return Identity(_kind(entry.mode), str(original(inventory, entry, placed)))
    if any(one.original and not one.command for one in noted):
        return Identity(_kind(entry.mode), content.checksum(path, entry.size))
    return _unplaced(inventory, entry, path)


def _leads_into_a_cache(inventory: Inventory, entry: Entry) -> bool:
    """Return whether an installer has put a link into its cache in the place of a file."""
    path = Path(inventory.prefix, entry.path)
    target = os.fspath(path.readlink())
    outside = target.startswith("/") and not os.fsencode(target).startswith(inventory.prefixes)
    return outside and any(one.cached for one in inventory.recorded.get(entry.path, ())) and path.is_file()


def _kind(mode: int) -> str:
    """Return whether the owner may run a file; what the others may depends on the umask at installation."""
    return "program" if mode & stat.S_IXUSR else "file"


def _unplaced(inventory: Inventory, entry: Entry, path: str) -> Identity:
    """Return what a file is that no package brought as it is: written at installation, by pip, or by nobody known."""
    kind, pattern = _kind(entry.mode), content.place_pattern(inventory.prefixes, exact=False)
    if entry.path.startswith("bin/") and entry.size <= commands.LARGEST:
        function, script = commands.without_place(Path(path).read_bytes(), inventory.prefixes)
        if function:
            return Identity(f"{kind}, command", function)
        return Identity(kind, hashlib.sha256(pattern.sub(lambda _: commands.PLACE, script)).hexdigest())
    if any(_as_in_the_wheel(one, entry, path) for one in inventory.recorded.get(entry.path, ())):
        return Identity(kind, content.checksum(path, entry.size))
    found = content.normalised(content.pieces(path, entry.size), pattern, len(inventory.prefixes[0]))
    return Identity(kind, str(found))


def _as_in_the_wheel(noted: Recorded, entry: Entry, path: str) -> bool:
    """Return whether a file is as its wheel has it, so that a prefix in it is a mere coincidence.

    What installers write for an editable project is in ``RECORD`` too, and holds its place.
    """
    name = entry.path.rpartition("/")[2]
    if name.endswith(".pth") or name.startswith("__editable__") or not noted.checksum:
        return False
    return content.checksum(path, entry.size, noted.algorithm) == noted.checksum
