"""Merge conda specs: what every layer asks of a package must hold, unless a later layer says that it takes over."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from conda_llmenv.compose.conflicts import Conflict
from conda_llmenv.compose.matchspec import ParsedSpec, parse_spec, write_spec
from conda_llmenv.compose.versions import intersect, is_satisfiable
from conda_llmenv.model import Fragment, MergedSpec, Origin, Sourced

_T = TypeVar("_T")

EXACT_FIELDS = frozenset({"md5", "sha256", "url", "fn"})
"""Bracket fields that name one file; two different values can never both hold."""


@dataclass
class Gathered:
    """What the layers ask of one package, in layer order."""

    parts: list[tuple[Sourced, ParsedSpec]] = field(default_factory=list)
    dropped: list[Sourced] = field(default_factory=list)
    taken_over: Origin | None = None

    def drop(self, by: Origin) -> bool:
        """Drop everything asked so far; return whether there was anything."""
        if not self.parts:
            return False
        self.dropped.extend(sourced for sourced, _ in self.parts)
        self.parts.clear()
        self.taken_over = by
        return True


@dataclass
class SpecTable:
    """The conda specs of all layers by package; ``used`` are the ``replace``/``remove`` entries that had an effect."""

    packages: dict[str, Gathered] = field(default_factory=dict)
    used: set[Origin] = field(default_factory=set)


def gather_specs(fragments: Iterable[Fragment]) -> SpecTable:
    """Stack the specs of the layers; each layer's ``replace`` and ``remove`` drop what came before it."""
    table = SpecTable()
    for fragment in fragments:
        for entry in (*fragment.replace, *fragment.remove):
            gathered = table.packages.get(entry.value)
            if gathered is not None and gathered.drop(entry.origin):
                table.used.add(entry.origin)
        for sourced in fragment.specs:
            parsed = parse_spec(sourced.value)
            known = table.packages.get(parsed.name)
            if known is None:
                known = table.packages[parsed.name] = Gathered()
            known.parts.append((sourced, parsed))
    return table


def merge_specs(table: SpecTable) -> tuple[tuple[MergedSpec, ...], list[Conflict]]:
    """Return one merged spec per package, sorted by name, and every contradiction."""
    merged: list[MergedSpec] = []
    conflicts: list[Conflict] = []
    for name in sorted(table.packages):
        gathered = table.packages[name]
        if not gathered.parts:
            continue
        unique = dict.fromkeys(parsed for _, parsed in gathered.parts)  # most layers say the same of a package
        found = list(_contradictions(name, gathered.parts, len(unique)))
        conflicts.extend(found)
        texts = () if found else _texts(name, list(unique))
        parts = tuple(sourced for sourced, _ in gathered.parts)
        merged.append(MergedSpec(name, texts, parts, tuple(gathered.dropped), gathered.taken_over))
    return tuple(merged), conflicts


_Parts = Sequence[tuple[Sourced, ParsedSpec]]
_Pairs = tuple[tuple[str, str], ...]


def _contradictions(name: str, parts: _Parts, different: int) -> Iterator[Conflict]:
    if not is_satisfiable(tuple(sorted({parsed.version for _, parsed in parts} - {""}))):
        opposed = _opposed(parts, lambda parsed: parsed.version, _versions_agree, fallback=True)
        reason = "no version fits this" if len(opposed) == 1 else ""
        yield Conflict(name, _sides(name, opposed), reason, package=name)
    if different == 1:
        return
    for opposed, reason in (
        (_opposed(parts, lambda parsed: parsed.build, _builds_agree), "different builds"),
        (_opposed(parts, lambda parsed: (parsed.channel, parsed.subdir), _channels_agree), "different channels"),
        (_opposed(parts, lambda parsed: parsed.brackets, _files_agree), "different files"),
    ):
        if opposed:
            yield Conflict(name, _sides("", opposed), reason, package=name)


def _opposed(
    parts: _Parts, aspect: Callable[[ParsedSpec], _T], agree: Callable[[_T, _T], bool], *, fallback: bool = False
) -> list[Sourced]:
    """Return the parts that some other part contradicts in one aspect.

    With ``fallback``, where only all together are contradictory, every part that says anything is returned.
    """
    unique = list(dict.fromkeys(aspect(parsed) for _, parsed in parts))
    against = {one for pair in itertools.combinations_with_replacement(unique, 2) if not agree(*pair) for one in pair}
    if not against and fallback:
        against = {one for one in unique if one}
    return [sourced for sourced, parsed in parts if aspect(parsed) in against]


def _versions_agree(one: str, other: str) -> bool:
    return is_satisfiable(tuple(sorted({one, other} - {""})))


def _builds_agree(one: str, other: str) -> bool:
    """Return whether some build string could fit both; what cannot be settled fits."""
    if not one or not other or one == other or one.startswith("^") or other.startswith("^"):
        return True
    if "*" not in one:
        return _glob_fits(other, one)
    if "*" not in other:
        return _glob_fits(one, other)
    heads = one.split("*", maxsplit=1)[0], other.split("*", maxsplit=1)[0]
    tails = one.rsplit("*", 1)[1], other.rsplit("*", 1)[1]
    same_start = heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])
    return same_start and (tails[0].endswith(tails[1]) or tails[1].endswith(tails[0]))


def _glob_fits(glob: str, build: str) -> bool:
    return re.fullmatch(".*".join(re.escape(piece) for piece in glob.split("*")), build) is not None


def _channels_agree(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether two (channel, subdir) can be the same; a name may be the end of a URL."""
    if one[1] and other[1] and one[1] != other[1]:
        return False
    if not one[0] or not other[0] or one[0] == other[0]:
        return True
    longer, shorter = sorted((one[0], other[0]), key=len, reverse=True)
    return "://" in longer and longer.endswith(f"/{shorter}")


def _files_agree(one: _Pairs, other: _Pairs) -> bool:
    theirs = dict(other)
    return all(theirs.get(key, value) == value for key, value in one if key in EXACT_FIELDS)


def _sides(name: str, sourced: Iterable[Sourced]) -> tuple[tuple[str, Origin], ...]:
    return tuple((constraint_text(name, one.value), one.origin) for one in sourced)


def constraint_text(name: str, text: str) -> str:
    """Return what a spec says about its package: ``numpy =1.26`` → ``=1.26``; the whole text where unsure."""
    return text[len(name) :].strip() or "any" if name and text.lower().startswith(name) else text


def _texts(name: str, parts: Sequence[ParsedSpec]) -> tuple[str, ...]:
    """Return the fewest specs that say what all parts say; several only for what one spec cannot hold."""
    versions = intersect(part.version for part in parts) or ("",)
    builds = _builds({part.build for part in parts} - {""})
    channel = max((part.channel for part in parts), key=len)
    subdir = max(part.subdir for part in parts)
    fields = _fields(parts)
    count = max(len(versions), len(builds), *(len(values) for values in fields.values()), 1)
    return tuple(
        write_spec(
            ParsedSpec(
                name,
                versions[i % len(versions)],
                builds[i % len(builds)] if builds else "",
                channel,
                subdir,
                tuple((key, values[i % len(values)]) for key, values in fields.items()),
            )
        )
        for i in range(count)
    )


def _builds(builds: set[str]) -> list[str]:
    """Return the build constraints to write: an exact one makes the globs it fits needless."""
    exact = [build for build in builds if "*" not in build and not build.startswith("^")]
    return sorted(exact + [build for build in builds if build.startswith("^")]) if exact else sorted(builds)


def _fields(parts: Sequence[ParsedSpec]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for part in parts:
        for key, value in part.brackets:
            found.setdefault(key, set()).add(value)
    return {key: sorted(found[key]) for key in sorted(found)}
