"""Two locks → what differs between them. What one side does not say is not different there, and is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from conda_llmenv.locks.differences import Change, Comparison, Difference, Kind, Part
from conda_llmenv.locks.fields import (
    COMPARED,
    INDEX,
    Fields,
    comparable,
    conda_fields,
    direction,
    pip_fields,
    same,
)
from conda_llmenv.locks.moved import moves
from conda_llmenv.locks.settings import setting_differences
from conda_llmenv.locks.sides import Side, said_by
from conda_llmenv.model import LockedPlatform

_LABELS = {
    Part.CONDA: "conda packages",
    Part.PIP: "pip packages",
    Part.CHANNELS: "channel list",
    Part.INDEXES: "index lines",
    Part.VARIABLES: "variables",
    Part.ASKED: "specs that were asked for",
}
_TITLES = {
    Part.CONDA: {"build": "builds", "channel": "channels", "hash": "hashes"},
    Part.PIP: {"version": "versions", "hash": "hashes"},
}
_KINDS = tuple(Kind)
_PARTS = tuple(Part)


def compare(before: Side, after: Side) -> Comparison:
    """Return what is different on the second side; swapping the sides turns every difference round."""
    said = said_by(before) & said_by(after)
    old, new = _packages(before.platform, said), _packages(after.platform, said)
    differences = [*_package_differences(old, new), *setting_differences(before, after, said)]
    return Comparison(
        differences=tuple(sorted(differences, key=_rank)),
        packages={part.value: len(packages) for part, packages in new.named.items()},
        unsaid=(*(label for part, label in _LABELS.items() if part not in said), *_unsaid_fields(old, new)),
    )


def _rank(one: Difference) -> tuple[int, bool, int, str]:
    return (_PARTS.index(one.part), not one.loud, _KINDS.index(one.kind), one.name)


_Named = Mapping[str, Fields]


class _Packages(Struct, frozen=True):
    """The packages of one side that both sides say, by part and name."""

    platform: LockedPlatform
    named: Mapping[Part, _Named]


def _packages(platform: LockedPlatform, said: frozenset[Part]) -> _Packages:
    named: dict[Part, _Named] = {}
    if Part.CONDA in said:
        named[Part.CONDA] = {record.name: conda_fields(record) for record in platform.records}
    if Part.PIP in said:
        named[Part.PIP] = {package.name: _settled(pip_fields(package), said) for package in platform.pip}
    return _Packages(platform, named)


def _settled(package: Fields, said: frozenset[Part]) -> Fields:
    """Return a distribution without what only looks as if it was said: which of its files was asked for by address."""
    origin = package.get("origin", "")
    is_file = "://" in origin and not origin.startswith("git+")
    return {**package, "origin": INDEX} if is_file and Part.ORIGINS not in said else package


def _package_differences(old: _Packages, new: _Packages) -> Iterator[Difference]:
    settled: dict[Part, set[str]] = {Part.CONDA: set(), Part.PIP: set()}
    if len(new.named) == len(settled):
        for (gone, name), (come, other) in _moves(old, new):
            settled[gone].add(name)
            settled[come].add(other)
            changes = _all_changes(old.named[gone][name], new.named[come][other])
            yield Difference(Part.MOVED, Kind.MOVED, name, changes)
    for part, packages in new.named.items():
        yield from _each(part, old.named[part], packages, settled[part])


_Place = tuple[Part, str]


def _moves(old: _Packages, new: _Packages) -> Iterator[tuple[_Place, _Place]]:
    """Yield where a package that moved was and where it is."""
    before, after = old.platform, new.platform
    for conda_name, pip_name in moves(before.records, after.records, before.pip, after.pip):
        yield (Part.CONDA, conda_name), (Part.PIP, pip_name)
    for conda_name, pip_name in moves(after.records, before.records, after.pip, before.pip):
        yield (Part.PIP, pip_name), (Part.CONDA, conda_name)


def _each(part: Part, before: _Named, after: _Named, moved: set[str]) -> Iterator[Difference]:
    for name in sorted({*before, *after} - moved):
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            yield _one_sided(part, name, old, new)
            continue
        changes = tuple(
            _change(field, old[field], new[field])
            for field in COMPARED
            if comparable(field, old, new) and not same(field, old, new)
        )
        if changes:
            yield Difference(part, Kind.CHANGED, name, changes)


def _one_sided(part: Part, name: str, old: Fields | None, new: Fields | None) -> Difference:
    kind = Kind.ADDED if old is None else Kind.REMOVED
    shown = {field: text for field, text in (old or new or {}).items() if field in COMPARED}
    return Difference(part, kind, name, _all_changes(*((shown, {}) if old else ({}, shown))))


def _all_changes(old: Fields, new: Fields) -> tuple[Change, ...]:
    """Return every field that either side says and that is not the same."""
    return tuple(
        _change(field, old.get(field, ""), new.get(field, ""))
        for field in ("installer", "name", *COMPARED)
        if old.get(field, "") != new.get(field, "")
    )


def _change(field: str, before: str, after: str) -> Change:
    return Change(field, before, after, direction(before, after) if field == "version" and before and after else "")


def _unsaid_fields(old: _Packages, new: _Packages) -> Iterator[str]:
    """Yield the fields that one side leaves open, with the number of packages where it is not so for all of them."""
    for part, after in new.named.items():
        before = old.named[part]
        common = [(before[name], after[name]) for name in before if name in after]
        missing = {
            title: sum(not comparable(field, one, other) for one, other in common)
            for field, title in _TITLES[part].items()
        }
        always = [title for title, number in missing.items() if number and number == len(common)]
        if always:
            yield f"{_listed(always)} of {part.value} packages"
        for title, number in missing.items():
            if 0 < number < len(common):
                yield f"{title} of {number} {part.value} package{'s' if number > 1 else ''}"


def _listed(words: Sequence[str]) -> str:
    """Return words as a person lists them: ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
