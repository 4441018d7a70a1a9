"""What differs between two locks beside their packages: channels, indexes, variables, and what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from conda_llmenv.locks.differences import Change, Difference, Kind, Part
from conda_llmenv.locks.fields import same_channel, specs_by_package
from conda_llmenv.locks.options import portable
from conda_llmenv.locks.pip_platforms import ANY
from conda_llmenv.locks.sides import Side
from conda_llmenv.model import Channel
from conda_llmenv.redact import MASK, mask_variable, strip


def setting_differences(before: Side, after: Side, said: frozenset[Part]) -> Iterator[Difference]:
    """Yield the differences of what both sides say."""
    old, new = before.lock, after.lock
    platforms = before.platform.subdir, after.platform.subdir
    if Part.PLATFORM in said and platforms[0] != platforms[1] and ANY not in platforms:
        yield _setting(Part.PLATFORM, "platform", *platforms)
    if Part.CHANNELS in said and not _same_channels(old.channels, new.channels):
        yield _setting(Part.CHANNELS, "channels", _order(old.channels), _order(new.channels))
    if Part.NODEFAULTS in said and old.nodefaults != new.nodefaults:
        yield _setting(Part.NODEFAULTS, "nodefaults", *("yes" if one.nodefaults else "" for one in (old, new)))
    indexes = [" ".join(portable(lock.pip_options)) for lock in (old, new)]
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
    shown = ["" if value is None else mask_variable(name, value) for value in (before, after)]
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
