"""``conda-meta`` as the library leaves it, made what conda and other people on the machine expect."""

from __future__ import annotations

import contextlib
import json
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from conda_llmenv.model import Record
from conda_llmenv.unlisted import release_history, withhold_history

SCRIPTS = ("post-link", "pre-link", "pre-unlink")
"""Programs of a package that conda runs when it is linked and that are not run here."""


@contextlib.contextmanager
def without_history(prefix: Path) -> Iterator[None]:
    """Keep the library from creating ``conda-meta/history`` in a new prefix before anything is linked."""
    withhold_history(prefix)
    try:
        yield
    finally:
        release_history(prefix)


def open_to_readers(prefix: Path) -> None:
    """Give records the permissions the umask asks for: the library writes them readable for their owner only."""
    umask = _umask()
    for path in (prefix / "conda-meta").glob("*.json"):
        if stat.S_IMODE(path.stat().st_mode) == 0o600:  # noqa: PLR2004 - the mode of a temporary file
            path.chmod(0o666 & ~umask)


def correct_links(prefix: Path) -> None:
    """Take the hash of its target's name from the record of every symbolic link.

    The library notes it as the content's, conda compares it with the file the link leads to, and ``conda doctor`` then
    calls each link altered. conda itself notes no hash of links.
    """
    for path in (prefix / "conda-meta").glob("*.json"):
        content = path.read_bytes()
        if b'"softlink"' in content and (corrected := _without_link_hashes(content)) is not None:
            mode = path.stat().st_mode
            beside = path.with_suffix(".json.new")
            beside.write_bytes(corrected)
            beside.chmod(mode)
            beside.replace(path)


def _without_link_hashes(content: bytes) -> bytes | None:
    """Return a record without the hashes of links, or None where it has none."""
    record = msgspec.json.decode(content)
    links = [entry for entry in record["paths_data"]["paths"] if entry.get("path_type") == "softlink"]
    noted = [entry.pop("sha256_in_prefix", None) for entry in links]
    return msgspec.json.format(msgspec.json.encode(record), indent=2) if any(noted) else None


def _umask() -> int:
    """Read the umask without setting it, which other threads would notice."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022


def damaged_records(prefix: Path) -> tuple[Path, ...]:
    """Return the files in ``conda-meta`` that are not the records they should be."""
    return tuple(path for path in sorted((prefix / "conda-meta").glob("*.json")) if not _is_record(path))


def _is_record(path: Path) -> bool:
    try:
        entry = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(entry, dict) and {"name", "version", "build"} <= entry.keys()


def skipped_scripts(prefix: Path, records: Iterable[Record]) -> tuple[str, ...]:
    """Return the packages that brought a link script, by name."""
    return tuple(
        record.name
        for record in records
        if any((prefix / "bin" / f".{record.name}-{script}.sh").exists() for script in SCRIPTS)
    )
