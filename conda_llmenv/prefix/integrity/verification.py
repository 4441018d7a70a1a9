"""Is every file as it was recorded when it was installed, and is there nothing else?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from packaging.utils import canonicalize_name

from conda_llmenv.prefix.integrity.comparison import Judgement, judge
from conda_llmenv.prefix.integrity.compiled import unlike_sources
from conda_llmenv.prefix.integrity.exclusions import is_installation_note
from conda_llmenv.prefix.integrity.inventory import Inventory, take_inventory
from conda_llmenv.prefix.integrity.model import Finding, Kind, Owner, Problem, Report
from conda_llmenv.prefix.integrity.noted import unlike_noted
from conda_llmenv.prefix.integrity.parallel import read_all

_METADATA = re.compile(r"(?:.*/)?site-packages/(?P<name>[^/]+?)-[^/-]+\.dist-info/METADATA")


def check_integrity(prefix: Path, *, contents: bool = True) -> Report:
    """Compare an environment with its records, and one of ours with what was noted when it was made.

    Args:
        prefix: the environment.
        contents: read every file; else existence, size, type and mode are compared and no file is opened.

    Raises:
        PrefixError: a folder cannot be listed, or a record is broken.
    """
    inventory = take_inventory(prefix)
    owned = [entry for path, entry in inventory.entries.items() if path in inventory.recorded]
    judge_one = partial(judge, inventory, contents=contents)
    judged = read_all(owned, judge_one) if contents else {entry.path: judge_one(entry) for entry in owned}
    findings = [
        *unlike_noted(inventory),
        *inventory.unreadable,
        *_altered(inventory, judged),
        *_missing(inventory),
        *_foreign(inventory),
        *unlike_sources(inventory, contents=contents),
    ]
    return Report(
        tuple(sorted(findings, key=lambda finding: (list(Problem).index(finding.problem), finding.path))),
        len(inventory.entries),
        inventory.size,
        sum(not one.told and not is_installation_note(path) for path, one in judged.items()),
        contents,
    )


def _altered(inventory: Inventory, judged: Mapping[str, Judgement]) -> Iterator[Finding]:
    for path, judgement in judged.items():
        if not judgement.detail and judgement.by is None:
            continue
        owners = tuple(dict.fromkeys(noted.owner for noted in inventory.recorded[path]))
        if judgement.by is not None:
            conda = tuple(owner for owner in owners if owner.tool == "conda")
            yield Finding(Problem.REPLACED, path, (*conda, judgement.by), judgement.detail)
        else:
            yield Finding(Problem.ALTERED, path, owners, judgement.detail)


def _missing(inventory: Inventory) -> Iterator[Finding]:
    """Yield what is recorded and not there; what pip took away for one of its own is replaced, not missing."""
    successors = _successors(inventory)
    for path, noted in inventory.recorded.items():
        if path in inventory.entries:
            continue
        owners = tuple(dict.fromkeys(one.owner for one in noted))
        by = successors.get(owners[0])
        if by is not None and "/site-packages/" in path:
            yield Finding(Problem.REPLACED, path, (owners[0], by), "it is not there any more")
        else:
            yield Finding(Problem.MISSING, path, owners)


def _successors(inventory: Inventory) -> dict[Owner, Owner]:
    """Return which distribution of pip's has taken the place of which conda package's."""
    by_name: dict[str, Owner] = {}
    brought: dict[Owner, str] = {}
    for path, noted in inventory.recorded.items():
        match = _METADATA.fullmatch(path) if path.endswith(".dist-info/METADATA") else None
        for one in noted if match else ():
            name = canonicalize_name(match["name"]) if match else ""
            if one.owner.tool == "conda":
                brought[one.owner] = name
            else:
                by_name[name] = one.owner
    return {owner: by_name[name] for owner, name in brought.items() if name in by_name}


def _foreign(inventory: Inventory) -> Iterator[Finding]:
    for path, entry in inventory.entries.items():
        if path not in inventory.recorded and not _is_note_of_known(path, inventory):
            yield Finding(Problem.FOREIGN, path, (), "" if entry.kind is Kind.FILE else entry.kind.value)


def _is_note_of_known(path: str, inventory: Inventory) -> bool:
    """Return whether a file says how a distribution came here that has a record of its files."""
    return is_installation_note(path) and f"{path.rpartition('/')[0]}/RECORD" in inventory.recorded
