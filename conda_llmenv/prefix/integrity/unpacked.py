"""Are the files of distributions that were just installed those that their wheels list?

uv gives environments hard links into its cache: a file that was altered in one environment is altered there too, and in
whatever is installed from there. The hash of the wheel was checked when it was unpacked, and not since.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from packaging.utils import canonicalize_name

from conda_llmenv.prefix.integrity import content
from conda_llmenv.prefix.integrity.exclusions import is_derived
from conda_llmenv.prefix.integrity.model import Entry, Kind, Recorded
from conda_llmenv.prefix.integrity.parallel import read_all
from conda_llmenv.prefix.integrity.pip_records import distribution_of, read_record


def altered_files(prefix: Path, names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the distributions with files that are not as any ``RECORD`` has them, and these files.

    A file that several distributions bring is as one of them has it. One that is not there is none that was altered.

    Args:
        prefix: the environment.
        names: of the distributions, in any spelling.

    Returns:
        For each distribution concerned, by its normalised name, paths relative to the prefix.
    """
    noted: dict[str, list[Recorded]] = {}
    unreadable: dict[str, tuple[str, ...]] = {}
    for record, name in _records(prefix).items():
        try:
            rows = read_record(prefix, record)
        except (OSError, ValueError):
            unreadable[name] = (record,)
            continue
        for path, one in rows:
            if one.checksum and not is_derived(path):
                noted.setdefault(path, []).append(one)
    wanted = set(map(canonicalize_name, names))
    altered = {name: paths for name, paths in unreadable.items() if name in wanted}
    owners = {path: {canonicalize_name(one.owner.name) for one in every} & wanted for path, every in noted.items()}
    for path in _unlike(prefix, {path: noted[path] for path, whose in owners.items() if whose}):
        for name in owners[path]:
            altered[name] = (*altered.get(name, ()), path)
    return altered


def _records(prefix: Path) -> dict[str, str]:
    """Return each ``RECORD`` in the environment with the normalised name of its distribution."""
    places = sorted(prefix.glob("lib/python3*/site-packages/*.dist-info/RECORD"))
    named = ((str(place.relative_to(prefix)), distribution_of(str(place.relative_to(prefix)))) for place in places)
    return {path: canonicalize_name(found[0]) for path, found in named if found is not None}


def _unlike(prefix: Path, noted: Mapping[str, list[Recorded]]) -> list[str]:
    present = [Entry(path, Kind.FILE, (prefix / path).stat().st_size, 0) for path in noted if (prefix / path).is_file()]

    def is_noted(entry: Entry) -> bool:
        """Return whether a file has the checksum that one of its wheels lists."""
        path = f"{prefix}/{entry.path}"
        return any(
            content.checksum(path, entry.size, one.algorithm, follow=True) == one.checksum for one in noted[entry.path]
        )

    return sorted(path for path, same in read_all(present, is_noted).items() if not same)
