"""Applying the changes a verdict proposes to a composed environment, so that they can be solved and shown to work."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conda_llmenv.model import (
    Change,
    EnvSpec,
    Layer,
    MergedChannel,
    MergedSpec,
    Origin,
    PipKind,
    PipOption,
    PipRequirement,
    PipSection,
    Sourced,
)

EDITS = frozenset({"channels", "spec", "add", "drop", "pip", "pip-option"})
"""Kinds of change that edit a file; the others are things a person has to do."""

_NOWHERE = Origin("proposed change", layer=Layer.COMMAND_LINE)


def apply_changes(spec: EnvSpec, changes: Iterable[Change]) -> EnvSpec:
    """Return the environment with every file edit of ``changes`` made, in order; other kinds change nothing."""
    for change in changes:
        if change.kind == "channels":
            spec = replace(spec, channels=_channels(spec.channels, change))
        elif change.kind in {"spec", "add", "drop"}:
            spec = replace(spec, specs=_specs(spec.specs, change))
        elif change.kind in {"pip", "pip-option"}:
            spec = replace(spec, pip=_pip(spec.pip, change))
    return spec


def _channels(channels: tuple[MergedChannel, ...], change: Change) -> tuple[MergedChannel, ...]:
    known = {channel.name: channel for channel in channels}
    new = MergedChannel("", (change.origin or _NOWHERE,))
    return tuple(known.get(name) or replace(new, name=name) for name in change.new)


def _specs(specs: tuple[MergedSpec, ...], change: Change) -> tuple[MergedSpec, ...]:
    """Replace, append or drop one package; a package that is there already under the new name is replaced in place."""
    new = [_merged_spec(text, change.origin or _NOWHERE) for text in change.new] if change.kind != "drop" else []
    out: list[MergedSpec] = []
    for spec in specs:
        if change.kind != "add" and spec.name == change.name:
            out += new
            new = []
        elif new and spec.name == new[0].name:
            out.append(new.pop())
        else:
            out.append(spec)
    return tuple(_first_of_each(out + new))


def _first_of_each(specs: list[MergedSpec]) -> list[MergedSpec]:
    return list({spec.name: spec for spec in reversed(specs)}.values())[::-1]


def _merged_spec(text: str, origin: Origin) -> MergedSpec:
    from rattler import MatchSpec

    parsed = MatchSpec(text, strict=False)
    name = getattr(parsed.name, "normalized", text)  # a pattern such as `py*` has no normalized name
    version = str(parsed.version) if parsed.version is not None else ""
    build = str(parsed.build) if parsed.build is not None else ""
    spelled = " ".join(filter(None, (name, version or ("*" if build else ""), build)))
    return MergedSpec(name, (spelled,), (Sourced(text, origin),))


def _pip(section: PipSection, change: Change) -> PipSection:
    if change.kind == "pip-option":
        option = PipOption(tuple(" ".join(change.new).split()), change.origin or _NOWHERE)
        known = {existing.tokens for existing in section.options}
        return section if option.tokens in known else replace(section, options=(*section.options, option))
    new = _requirement(change.new[0], change.origin or _NOWHERE)
    requirements = tuple(new if old.name == change.name else old for old in section.requirements)
    return replace(section, requirements=requirements)


def _requirement(text: str, origin: Origin) -> PipRequirement:
    parsed = Requirement(text)
    return PipRequirement(
        text=text,
        kind=PipKind.URL if parsed.url else PipKind.NAMED,
        origin=origin,
        name=canonicalize_name(parsed.name),
        specifier=str(parsed.specifier),
        extras=tuple(sorted(canonicalize_name(extra) for extra in parsed.extras)),
        marker=str(parsed.marker or ""),
    )
