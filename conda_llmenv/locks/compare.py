"""Two locks → what differs between them. What one side does not say is not different there, and is named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    same_channel,
    specs_by_package,
)
from conda_llmenv.locks.moved import moves
from conda_llmenv.model import Channel, Lock, LockedPlatform
from conda_llmenv.redact import MASK, mask, strip

EVERYTHING = frozenset(Part)
"""What an environment that llmenv made says."""

NOARCH = "noarch"
"""The platform of a list that does not say which it is for."""

INSTALLED = frozenset({Part.CONDA, Part.PIP, Part.ORIGINS, Part.VARIABLES, Part.PLATFORM})
"""What an environment says that another tool made: nobody noted what was asked for."""

_EXACT = frozenset({Part.CONDA, Part.PIP, Part.ORIGINS, Part.CHANNELS, Part.PLATFORM})
SAID = {
    "environment": EVERYTHING - {Part.PLATFORM},
    "pixi": _EXACT,
    "conda-lock": _EXACT,
    "explicit": frozenset({Part.CONDA, Part.PIP, Part.PLATFORM}),  # a file of an index is an address like any other
    "pylock": frozenset({Part.PIP, Part.ORIGINS}),
    "requirements": frozenset({Part.PIP, Part.ORIGINS, Part.INDEXES}),
}
"""What a lockfile of each format says; what was asked for is said wherever it is not empty."""

IN_HEAD = frozenset({Part.VARIABLES, Part.INDEXES, Part.NODEFAULTS})
"""What the head of any lockfile of ours says."""

_LABELS = {
    Part.CONDA: "conda packages",
    Part.PIP: "pip packages",
    Part.CHANNELS: "channel list",
    Part.INDEXES: "index lines",
    Part.VARIABLES: "variables",
    Part.ASKED: "specs that were asked for",
}
_CONDA_FIELDS = {"build": "builds", "channel": "channels", "hash": "hashes"}
_PIP_FIELDS = {"version": "versions", "hash": "hashes"}
_KINDS = tuple(Kind)
_PARTS = tuple(Part)


class Side(Struct, frozen=True):
    """One side of a comparison.

    Attributes:
        lock: what is compared.
        platform: the part of it that is meant.
        says: what this kind of lock can say at all; an empty value in it means that there is nothing.
    """

    lock: Lock
    platform: LockedPlatform
    says: frozenset[Part] = EVERYTHING


def compare(before: Side, after: Side) -> Comparison:
    """Return what is different on the second side; swapping the sides turns every difference round."""
    said = _said(before) & _said(after)
    differences = [*_packages(before.platform, after.platform, said), *_settings(before, after, said)]
    numbers = {
        part.value: len(packages)
        for part, packages in ((Part.CONDA, after.platform.records), (Part.PIP, after.platform.pip))
        if part in said
    }
    unsaid = [
        *(label for part, label in _LABELS.items() if part not in said),
        *_unsaid_fields(before.platform, after.platform, said),
    ]
    return Comparison(tuple(sorted(differences, key=_rank)), numbers, tuple(unsaid))


def _said(side: Side) -> frozenset[Part]:
    """Return what a side says; specs and channels are unknown, rather than none, where there are none."""
    unknown = {
        part for part, values in ((Part.CHANNELS, side.lock.channels), (Part.ASKED, side.lock.specs)) if not values
    }
    return (side.says | {Part.ASKED}) - unknown


def _rank(one: Difference) -> tuple[int, bool, int, str]:
    return (_PARTS.index(one.part), not one.loud, _KINDS.index(one.kind), one.name)


_Named = Mapping[str, Fields]


def _conda(platform: LockedPlatform) -> dict[str, Fields]:
    return {record.name: conda_fields(record) for record in platform.records}


def _pip(platform: LockedPlatform) -> dict[str, Fields]:
    return {package.name: pip_fields(package) for package in platform.pip}


def _packages(before: LockedPlatform, after: LockedPlatform, said: frozenset[Part]) -> Iterator[Difference]:
    both = {Part.CONDA, Part.PIP} <= said
    moved: tuple[set[str], set[str]] = (set(), set())  # names that are accounted for, of conda and of pip
    if both:
        for difference, conda_name, pip_name in _moved(before, after):
            moved[0].add(conda_name)
            moved[1].add(pip_name)
            yield difference
    if Part.CONDA in said:
        yield from _each(Part.CONDA, _conda(before), _conda(after), moved[0])
    if Part.PIP in said:
        old, new = ({name: _settled(one, said) for name, one in _pip(platform).items()} for platform in (before, after))
        yield from _each(Part.PIP, old, new, moved[1])


def _settled(package: Fields, said: frozenset[Part]) -> Fields:
    """Return a distribution without what only looks as if it was said: which of its files was asked for by address."""
    origin = package.get("origin", "")
    is_file = "://" in origin and not origin.startswith("git+")
    return {**package, "origin": INDEX} if is_file and Part.ORIGINS not in said else package


def _moved(before: LockedPlatform, after: LockedPlatform) -> Iterator[tuple[Difference, str, str]]:
    conda, pip = (_conda(before), _conda(after)), (_pip(before), _pip(after))
    for conda_name, pip_name in moves(before.records, after.records, before.pip, after.pip):
        old, new = conda[0][conda_name], pip[1][pip_name]
        yield Difference(Part.MOVED, Kind.MOVED, conda_name, _all_changes(old, new)), conda_name, pip_name
    for conda_name, pip_name in moves(after.records, before.records, after.pip, before.pip):
        old, new = pip[0][pip_name], conda[1][conda_name]
        yield Difference(Part.MOVED, Kind.MOVED, pip_name, _all_changes(old, new)), conda_name, pip_name


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


def _settings(before: Side, after: Side, said: frozenset[Part]) -> Iterator[Difference]:
    old, new = before.lock, after.lock
    platforms = before.platform.subdir, after.platform.subdir
    if Part.PLATFORM in said and platforms[0] != platforms[1] and NOARCH not in platforms:
        yield _setting(Part.PLATFORM, "platform", *platforms)
    if Part.CHANNELS in said and not _same_channels(old.channels, new.channels):
        yield _setting(Part.CHANNELS, "channels", _order(old.channels), _order(new.channels))
    if Part.NODEFAULTS in said and old.nodefaults != new.nodefaults:
        yield _setting(Part.NODEFAULTS, "nodefaults", *("yes" if one.nodefaults else "" for one in (old, new)))
    indexes = [" ".join(map(strip, lock.pip_options)) for lock in (old, new)]
    if Part.INDEXES in said and indexes[0] != indexes[1]:
        yield _setting(Part.INDEXES, "indexes", *indexes)
    if Part.VARIABLES in said:
        yield from _variables(old.variables, new.variables)
    if Part.ASKED in said:
        yield from _asked(old.specs, new.specs)


def _setting(part: Part, name: str, before: str, after: str) -> Difference:
    kind = Kind.ADDED if not before else Kind.REMOVED if not after else Kind.CHANGED
    return Difference(part, kind, name, (Change("value", before, after),))


def _same_channels(old: Sequence[Channel], new: Sequence[Channel]) -> bool:
    return len(old) == len(new) and all(
        same_channel(one.name, other.name) or (bool(one.url) and same_channel(one.url, other.url))
        for one, other in zip(old, new, strict=True)
    )


def _order(channels: Iterable[Channel]) -> str:
    return " > ".join(strip(channel.name) for channel in channels)


def _variables(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({*old, *new}):
        difference = _variable(name, old.get(name), new.get(name))
        if difference is not None:
            yield difference


def _variable(name: str, before: str | None, after: str | None) -> Difference | None:
    """Compare one variable; a lock leaves a secret out, or has the mask in its place, and neither is a difference."""
    shown = ["" if value is None else mask(f"{name}={value}").partition("=")[2] for value in (before, after)]
    kind = Kind.ADDED if before is None else Kind.REMOVED if after is None else Kind.CHANGED
    left_out = kind is not Kind.CHANGED and MASK in "".join(shown)
    masked = MASK in f"{before}{after}" and shown[0] == shown[1]
    if before == after or left_out or masked:
        return None
    return Difference(Part.VARIABLES, kind, name, (Change("value", *shown),))


def _asked(old: Iterable[str], new: Iterable[str]) -> Iterator[Difference]:
    before, after = specs_by_package(old), specs_by_package(new)
    for name in sorted({*before, *after}):
        texts = [" and ".join(side.get(name, ())) for side in (before, after)]
        if texts[0] != texts[1]:
            yield _setting(Part.ASKED, name, *texts)


def _unsaid_fields(before: LockedPlatform, after: LockedPlatform, said: frozenset[Part]) -> Iterator[str]:
    """Yield the fields that one side leaves open, with the number of packages where it is not so for all of them."""
    for part, read, titles in ((Part.CONDA, _conda, _CONDA_FIELDS), (Part.PIP, _pip, _PIP_FIELDS)):
        if part not in said:
            continue
        old, new = read(before), read(after)
        common = [(old[name], new[name]) for name in old if name in new]
        missing = {
            title: sum(not comparable(field, one, other) for one, other in common) for field, title in titles.items()
        }
        always = [title for title, number in missing.items() if number and number == len(common)]
        if always:
            yield f"{listed(always)} of {part.value} packages"
        for title, number in missing.items():
            if 0 < number < len(common):
                yield f"{title} of {number} {part.value} package{'s' if number > 1 else ''}"


def listed(words: Sequence[str]) -> str:
    """Return words as a person lists them: ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
