"""Merge pip sections: options once, at the top and in order; requirements in order, one per distribution."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from conda_llmenv.compose.conflicts import Conflict
from conda_llmenv.compose.pep440 import is_satisfiable
from conda_llmenv.model import Fragment, Notice, Origin, PipKind, PipOption, PipRequirement, PipSection
from conda_llmenv.redact import mask


@dataclass
class RequirementTable:
    """The requirements of all layers in order; ``used`` are the ``replace``/``remove`` entries that had an effect."""

    requirements: list[PipRequirement] = field(default_factory=list)
    used: set[Origin] = field(default_factory=set)


def gather_requirements(fragments: Iterable[Fragment]) -> RequirementTable:
    """Stack the requirements of the layers; each layer's ``replace`` and ``remove`` drop what came before it."""
    table = RequirementTable()
    for fragment in fragments:
        for entry in (*fragment.replace, *fragment.remove):
            name = canonicalize_name(entry.value)
            kept = [requirement for requirement in table.requirements if requirement.name != name]
            if len(kept) < len(table.requirements):
                table.used.add(entry.origin)
            table.requirements = kept
        table.requirements.extend(fragment.pip)
    return table


def merge_pip(
    fragments: Sequence[Fragment], requirements: Iterable[PipRequirement]
) -> tuple[PipSection, list[Conflict], list[Notice]]:
    """Return the merged section, every contradiction, and what a person should know."""
    options, notices = _options(option for fragment in fragments for option in fragment.pip_options)
    groups: dict[tuple[str, ...], list[PipRequirement]] = {}
    for requirement in requirements:
        groups.setdefault(_key(requirement), []).append(requirement)
    isolated = {name for fragment in fragments for name in fragment.no_build_isolation}
    section = PipSection(
        options=options,
        requirements=tuple(_merged(parts) for parts in groups.values()),
        parts=tuple(tuple(parts) for parts in groups.values()),
        no_build_isolation=tuple(sorted(isolated)),
    )
    return section, [*_conflicts(groups.values()), *_rivals(section.requirements)], notices


def _key(requirement: PipRequirement) -> tuple[str, ...]:
    """Return what makes two requirements the same entry: name and marker, or the very same text and place."""
    if requirement.kind is PipKind.NAMED:
        return ("named", requirement.name or "", requirement.marker)
    return (requirement.kind.value, requirement.text if requirement.path is None else "", str(requirement.path or ""))


def _options(options: Iterable[PipOption]) -> tuple[tuple[PipOption, ...], list[Notice]]:
    """Return each option once in order; of several ``--index-url`` the last holds, as in pip."""
    unique: dict[tuple[str, ...], PipOption] = {}
    for option in options:
        unique.setdefault(option.tokens, option)
    indexes = [option for option in unique.values() if option.tokens[0] == "--index-url"]
    notices = [_overridden(lost, indexes[-1]) for lost in indexes[:-1]]
    return tuple(option for option in unique.values() if option not in indexes[:-1]), notices


def _overridden(lost: PipOption, kept: PipOption) -> Notice:
    return Notice(
        "index-overridden",
        mask(f"pip's index is {kept.tokens[1]} ({kept.origin}), not {lost.tokens[1]} ({lost.origin})"),
        (kept.origin, lost.origin),
        "write --extra-index-url where both are needed",
    )


def _merged(parts: Sequence[PipRequirement]) -> PipRequirement:
    first = parts[0]
    if all(part.text == first.text for part in parts):
        return first
    specifier = ",".join(sorted({one for part in parts for one in part.specifier.split(",") if one}))
    extras = tuple(sorted({extra for part in parts for extra in part.extras}))
    if first.kind is not PipKind.NAMED:
        return first
    text = (first.name or "") + (f"[{','.join(extras)}]" if extras else "") + specifier
    if first.marker:
        text += f" ; {first.marker}"
    options = dict.fromkeys(option for part in parts for option in per_requirement_options(part.text))
    return replace(first, text=" ".join([text, *options]), specifier=specifier, extras=extras)


def per_requirement_options(text: str) -> list[str]:
    """Return the options behind a requirement, such as ``--hash=sha256:…``."""
    match = re.search(r"\s(--[a-z].*)$", text)
    return re.split(r"\s+(?=--)", match[1]) if match else []


def _conflicts(groups: Iterable[Sequence[PipRequirement]]) -> Iterator[Conflict]:
    for parts in groups:
        specifiers = tuple(sorted({part.specifier for part in parts} - {""}))
        if len(specifiers) > 0 and not is_satisfiable(specifiers):
            sides = tuple((part.text, part.origin) for part in parts if part.specifier)
            yield Conflict(f"{parts[0].name} (pip)", sides, package=parts[0].name or "")


def _rivals(requirements: Sequence[PipRequirement]) -> Iterator[Conflict]:
    """Yield distributions that come from two different places (URL, VCS, path) at once."""
    direct: dict[str, list[PipRequirement]] = {}
    for requirement in requirements:
        if requirement.kind is not PipKind.NAMED and requirement.name:
            direct.setdefault(requirement.name, []).append(requirement)
    for name, rivals in direct.items():
        if len({(rival.text, rival.marker) for rival in rivals}) > 1 and not any(rival.marker for rival in rivals):
            sides = tuple((rival.text, rival.origin) for rival in rivals)
            yield Conflict(f"{name} (pip)", sides, "from different places", package=name)
