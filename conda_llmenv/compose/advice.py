"""What a person should know about a composed environment though nothing contradicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from conda_llmenv.compose.matchspec import parse_spec
from conda_llmenv.compose.ownership import name_table
from conda_llmenv.compose.pep440 import is_satisfiable as pip_satisfiable
from conda_llmenv.compose.versions import is_satisfiable
from conda_llmenv.model import Fragment, Layer, MergedSpec, Notice, Origin, PipSection

PIP_FLOOR = "23.1"
"""pip release that takes ``--config-settings`` per requirement and builds without setup.py by default."""

SOLVED_BUILDS = 3
"""So many exact builds in one file mean that it was exported, not written."""

_SOLVED_BUILD = re.compile(r"(.*_)?(py\d+)?h[0-9a-f]{7,8}_\d+(_\w+)?|py\d+_\d+|py\d\.\d+_.+_\d+|\d+")


class Composed(Struct, frozen=True):
    """What the advice looks at."""

    fragments: Sequence[Fragment]
    specs: Mapping[str, MergedSpec]
    pip: PipSection


def advise(composed: Composed) -> Iterator[Notice]:
    """Yield every notice, in a fixed order."""
    yield from _unknown_keys(composed.fragments)
    yield from _tier_not_meant(composed.fragments)
    yield from _old_pip(composed)
    yield from _pulled_in(composed)
    yield from _legacy_cudatoolkit(composed.specs)
    yield from _nvjitlink(composed)
    for fragment in composed.fragments:
        yield from _solved_builds(fragment)


def unused_takeovers(fragments: Iterable[Fragment], used: set[Origin]) -> Iterator[Notice]:
    """Yield the ``replace`` and ``remove`` entries of a person's own files that had nothing to take over.

    Tiers and shared fragments are written for stacks that may or may not hold a package.
    """
    for fragment in fragments:
        if fragment.origin.layer < Layer.PROJECT:
            continue
        for word, entries in (("replace", fragment.replace), ("remove", fragment.remove)):
            for entry in entries:
                if entry.origin not in used:
                    message = f"{word} {entry.value} ({entry.origin}) changes nothing: no earlier layer asks for it"
                    yield Notice("takeover-unused", message, (entry.origin,), "check the name, or delete the entry")


def _unknown_keys(fragments: Iterable[Fragment]) -> Iterator[Notice]:
    for fragment in fragments:
        for key in fragment.unknown_keys:
            yield Notice(
                "unknown-key",
                f"key {key.value!r} ({key.origin}) means nothing in an environment file and is ignored",
                (key.origin,),
                "settings of this program belong under `llmenv:`",
            )


def _tier_not_meant(fragments: Iterable[Fragment]) -> Iterator[Notice]:
    recipe = next((fragment for fragment in fragments if fragment.tiers), None)
    tier = next((fragment for fragment in reversed(list(fragments)) if fragment.gpu is not None), None)
    if recipe is None or tier is None or tier.name in {one.value for one in recipe.tiers}:
        return
    meant = ", ".join(one.value for one in recipe.tiers)
    yield Notice(
        "tier-not-meant",
        f"recipe {recipe.name} is made for the tiers {meant}, not for {tier.name} ({recipe.tiers[0].origin})",
        (recipe.tiers[0].origin,),
        f"try it, or add {tier.name} to the recipe's tiers",
    )


def _old_pip(composed: Composed) -> Iterator[Notice]:
    spec = composed.specs.get("pip")
    if spec is not None and spec.parts:
        versions = tuple(sorted({parse_spec(text).version for text in spec.texts} - {""}))
        if versions and not is_satisfiable((*versions, f">={PIP_FLOOR}")):
            yield _pip_notice(spec.parts[-1].value, spec.parts[-1].origin)
    for requirement in composed.pip.requirements:
        if requirement.name == "pip" and not pip_satisfiable((requirement.specifier, f">={PIP_FLOOR}")):
            yield _pip_notice(requirement.text, requirement.origin)


def _pip_notice(text: str, origin: Origin) -> Notice:
    return Notice(
        "old-pip",
        f"{text} ({origin}) is older than pip {PIP_FLOOR}, which many packages of today need to build",
        (origin,),
        "drop the version, or use `pip`",
    )


def _pulled_in(composed: Composed) -> Iterator[Notice]:
    """Yield pip requirements that write over what a conda package brings with it."""
    table: Mapping[str, list[str]] = name_table()["pulled_in"]
    for requirement in composed.pip.requirements:
        pulled_by = [name for name in table.get(requirement.name or "", ()) if name in composed.specs]
        if pulled_by:
            origin = composed.specs[pulled_by[0]].parts[0].origin
            yield Notice(
                "pip-overwrites",
                f"pip's {requirement.text} ({requirement.origin}) will overwrite the {requirement.name} that conda's "
                f"{pulled_by[0]} ({origin}) pulls in",
                (requirement.origin, origin),
                f"move {requirement.name} to the conda dependencies",
            )


def _legacy_cudatoolkit(specs: Mapping[str, MergedSpec]) -> Iterator[Notice]:
    legacy, version = specs.get("cudatoolkit"), specs.get("cuda-version")
    if legacy is not None and version is not None:
        origins = (legacy.parts[0].origin, version.parts[0].origin)
        yield Notice(
            "legacy-cudatoolkit",
            f"{legacy.parts[0].value} ({origins[0]}) is the CUDA of before 12, and "
            f"{version.parts[0].value} ({origins[1]}) chooses it anew; two CUDA runtimes may end up side by side",
            origins,
            "drop cudatoolkit: what is built for CUDA brings its own runtime",
        )


def _nvjitlink(composed: Composed) -> Iterator[Notice]:
    table = name_table()
    links = list(_minors(composed, table["nvjitlink"]))
    others = list(_minors(composed, table["cuda_minor"]))
    for text, minor, origin in links:
        differing = [other for other in others if other[1] != minor and other[1][0] == minor[0]]
        if differing:
            other_text, _, other_origin = differing[0]
            yield Notice(
                "nvjitlink-minor",
                f"{text} ({origin}) is of another CUDA minor version than {other_text} ({other_origin}); a library "
                "loaded first may then lack a symbol of nvJitLink",
                (origin, other_origin),
                "pin them to the same CUDA minor version",
            )
            return


def _minors(composed: Composed, names: Mapping[str, list[str]]) -> Iterator[tuple[str, tuple[str, str], Origin]]:
    for name in names["conda"]:
        spec = composed.specs.get(name)
        for part in spec.parts if spec is not None else ():
            yield from _minor(part.value, parse_spec(part.value).version, part.origin)
    for requirement in composed.pip.requirements:
        if re.sub(r"-cu\d+$", "", requirement.name or "") in names["pip"]:
            yield from _minor(requirement.text, requirement.specifier, requirement.origin)


def _minor(text: str, constraint: str, origin: Origin) -> Iterator[tuple[str, tuple[str, str], Origin]]:
    match = re.match(r"(?:==)?(\d+)\.(\d+)(?:\.[\d.*]+)?$", constraint)
    if match:
        yield text, (match[1], match[2]), origin


def _solved_builds(fragment: Fragment) -> Iterator[Notice]:
    solved = [
        spec
        for spec in fragment.specs
        if "=" in spec.value and (build := parse_spec(spec.value).build) and _SOLVED_BUILD.fullmatch(build)
    ]
    if len(solved) >= SOLVED_BUILDS:
        origin = solved[0].origin
        yield Notice(
            "solved-builds",
            f"{fragment.origin.file} pins {len(solved)} exact builds, the first at line {origin.line}: it was exported "
            "from one machine and may fit no other",
            (origin,),
            "keep `name=version`, without the build",
        )
