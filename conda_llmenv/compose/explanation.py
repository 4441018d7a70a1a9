"""Who asked for what: every composed value with its files, lines, layers and reasons; as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from packaging.utils import canonicalize_name

from conda_llmenv.compose.matchspec import parse_spec
from conda_llmenv.compose.ownership import same_distribution
from conda_llmenv.compose.reading import did_you_mean
from conda_llmenv.errors import NotFoundError
from conda_llmenv.model import EnvSpec, MergedSpec, MergedVariable, Notice, Origin, PipRequirement, Sourced
from conda_llmenv.redact import mask

PAYLOAD_VERSION = 1


class Explanation(Struct, frozen=True):
    """Why one value is as it is.

    Attributes:
        kind: ``package``, ``pip``, ``channel``, ``variable``, ``virtual-package``, ``removed`` or ``shadowed``.
        name: package, distribution, channel or variable; the winning file for ``shadowed``.
        value: the composed text, free of secrets; empty for what was removed.
        reasons: what each layer wrote, in layer order; all of them hold (for a variable, the one that won).
        replaced: what a later layer replaced, removed or overrode.
        taken_over: the entry that did so, or None.
        shadowed: files of the same name that the winning one hides.
    """

    kind: str
    name: str
    value: str
    reasons: tuple[Sourced, ...] = ()
    replaced: tuple[Sourced, ...] = ()
    taken_over: Origin | None = None
    shadowed: tuple[str, ...] = ()


def explain(spec: EnvSpec, package: str | None = None) -> tuple[Explanation, ...]:
    """Explain one package (with the channels and shadowed files that bear on it), or everything.

    Raises:
        NotFoundError: no layer asks for that package.
    """
    packages = [*_packages(spec), *_pip(spec), *_removed(spec)]
    variables = [_variable(variable) for variable in spec.variables]
    if package is not None:
        wanted = package.strip()
        packages = [one for one in packages if one.name in {wanted.lower(), canonicalize_name(wanted)}]
        variables = [one for one in variables if one.name == wanted]
        if not packages and not variables:
            known = {one.name for one in (*_packages(spec), *_pip(spec), *_removed(spec))}
            hint = _other_name(spec, canonicalize_name(wanted)) or did_you_mean(wanted, known)
            raise NotFoundError(f"no layer asks for {wanted!r}", hint=hint)
    virtual = [_virtual(name, sourced) for name, sourced in spec.virtual_packages] if package is None else []
    return (*packages, *_channels(spec), *variables, *virtual, *_shadowed(spec))


def _other_name(spec: EnvSpec, wanted: str) -> str:
    """Return a hint where the other side of the environment has the package under a name of its own."""
    conda = [merged.name for merged in spec.specs if same_distribution(merged.name, wanted)]
    if conda:
        return f"conda's name of it is {' or '.join(f'`{name}`' for name in sorted(conda, key=len))}"
    pip = [one.name for one in spec.pip.requirements if one.name and same_distribution(wanted, one.name)]
    return f"pip's name of it is {' or '.join(f'`{name}`' for name in dict.fromkeys(pip))}" if pip else ""


def _packages(spec: EnvSpec) -> Iterator[Explanation]:
    for merged in spec.specs:
        value = mask(", ".join(merged.texts))
        yield Explanation(
            "package", merged.name, value, _masked(merged.parts), _masked(merged.dropped), merged.taken_over
        )


def _pip(spec: EnvSpec) -> Iterator[Explanation]:
    for requirement, parts in zip(spec.pip.requirements, spec.pip.parts, strict=True):
        reasons = tuple(Sourced(part.text, part.origin, part.why) for part in parts)
        yield Explanation("pip", requirement.name or mask(requirement.text), mask(requirement.text), _masked(reasons))


def _removed(spec: EnvSpec) -> Iterator[Explanation]:
    """Yield the packages that some layer asked for and a later one removed, or left to pip."""
    kept = {merged.name for merged in spec.specs}
    asked: dict[str, list[Sourced]] = {}
    for fragment in spec.layers:
        for sourced in fragment.specs:
            asked.setdefault(parse_spec(sourced.value).name, []).append(sourced)
    for name in sorted(set(asked) - kept):
        yield Explanation("removed", name, "", replaced=_masked(asked[name]), taken_over=_remover(spec, name))


def _remover(spec: EnvSpec, name: str) -> Origin | None:
    entries = [
        entry.origin for layer in spec.layers for entry in (*layer.replace, *layer.remove) if entry.value == name
    ]
    owners = [chosen.origin for layer in spec.layers for _, chosen in layer.owner]
    found = entries or owners
    return found[-1] if found else None


def _channels(spec: EnvSpec) -> Iterator[Explanation]:
    reasons = {(one.value, one.origin): one.why for fragment in spec.layers for one in fragment.channels}
    for channel in spec.channels:
        sourced = tuple(
            Sourced(channel.name, origin, reasons.get((channel.name, origin), "")) for origin in channel.origins
        )
        yield Explanation("channel", mask(channel.name), mask(channel.name), _masked(sourced))


def _variable(variable: MergedVariable) -> Explanation:
    value = _shown(variable.name, variable.value)
    winner = Sourced(value, variable.origin, variable.why)
    lost = tuple(Sourced(_shown(old.name, old.value), old.origin, old.why) for old in variable.overridden)
    return Explanation("variable", variable.name, value, (winner,), lost, variable.origin if lost else None)


def _virtual(name: str, sourced: Sourced) -> Explanation:
    return Explanation("virtual-package", name, sourced.value, (sourced,))


def _shadowed(spec: EnvSpec) -> Iterator[Explanation]:
    for fragment in spec.layers:
        if fragment.shadows:
            winner = Sourced(fragment.origin.file, fragment.origin)
            yield Explanation(
                "shadowed", fragment.origin.file, fragment.origin.file, (winner,), shadowed=fragment.shadows
            )


def _masked(values: Iterable[Sourced]) -> tuple[Sourced, ...]:
    return tuple(Sourced(mask(one.value), one.origin, mask(one.why)) for one in values)


def _shown(name: str, value: str | None) -> str:
    return "unset" if value is None else mask(f"{name}={value}").partition("=")[2]


def to_json(spec: EnvSpec) -> dict[str, Any]:
    """Return a composed environment as one versioned document of plain values, free of secrets."""
    return {
        "version": PAYLOAD_VERSION,
        "tier": spec.tier.name if spec.tier else None,
        "recipe": spec.recipe.name if spec.recipe else None,
        "layers": [
            {
                "name": one.name,
                "kind": one.kind.value,
                "file": one.origin.file,
                "layer": one.origin.label,
                "sha256": one.digest,
            }
            for one in spec.layers
        ],
        "channels": [
            {"name": mask(one.name), "origins": [origin_json(origin) for origin in one.origins]}
            for one in spec.channels
        ],
        "nodefaults": spec.nodefaults is not None,
        "channel_priority": spec.channel_priority,
        "dependencies": [_spec_json(one) for one in spec.specs],
        "pip": {
            "options": [{"text": mask(one.text), **origin_json(one.origin)} for one in spec.pip.options],
            "requirements": [
                _requirement_json(one, parts) for one, parts in zip(spec.pip.requirements, spec.pip.parts, strict=True)
            ],
            "no_build_isolation": list(spec.pip.no_build_isolation),
        },
        "variables": [_variable_json(one) for one in spec.variables],
        "virtual_packages": {name: sourced.value for name, sourced in spec.virtual_packages},
        "driver": spec.driver.value if spec.driver else None,
        "verify": dict(spec.verify),
        "defaults": dict(spec.defaults),
        "includes": [{"file": path, "sha256": digest} for path, digest in spec.includes],
        "notices": [_notice_json(notice) for notice in spec.notices],
    }


def origin_json(origin: Origin) -> dict[str, Any]:
    """Return an origin as plain values."""
    return {"file": origin.file, "line": origin.line, "layer": origin.label}


def _sourced_json(sourced: Sourced) -> dict[str, Any]:
    return {"text": mask(sourced.value), "why": mask(sourced.why), **origin_json(sourced.origin)}


def _spec_json(merged: MergedSpec) -> dict[str, Any]:
    return {
        "name": merged.name,
        "specs": [mask(text) for text in merged.texts],
        "parts": [_sourced_json(part) for part in merged.parts],
        "replaced": [_sourced_json(part) for part in merged.dropped],
        "taken_over": origin_json(merged.taken_over) if merged.taken_over else None,
    }


def _requirement_json(requirement: PipRequirement, parts: tuple[PipRequirement, ...]) -> dict[str, Any]:
    return {
        "text": mask(requirement.text),
        "kind": requirement.kind.value,
        "name": requirement.name,
        "path": str(requirement.path) if requirement.path else None,
        "parts": [_sourced_json(Sourced(part.text, part.origin, part.why)) for part in parts],
    }


def _variable_json(variable: MergedVariable) -> dict[str, Any]:
    value = None if variable.value is None else _shown(variable.name, variable.value)
    return {
        "name": variable.name,
        "value": value,
        "why": variable.why,
        **origin_json(variable.origin),
        "overridden": [
            {"value": _shown(old.name, old.value), **origin_json(old.origin)} for old in variable.overridden
        ],
    }


def _notice_json(notice: Notice) -> dict[str, Any]:
    return {
        "code": notice.code,
        "message": mask(notice.message),
        "hint": notice.hint,
        "origins": [origin_json(origin) for origin in notice.origins],
    }
