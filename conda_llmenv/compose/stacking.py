"""Stack the layers of one request: base → recipe's fragments → recipe → tier → project → files → command line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.compose.channels import TYPED
from conda_llmenv.compose.kinds import kind_of
from conda_llmenv.compose.matchspec import parse_spec
from conda_llmenv.compose.pip_lines import Line, parse_line
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.compose.reader import NODEFAULTS, read_fragment
from conda_llmenv.compose.reading import did_you_mean
from conda_llmenv.compose.tier_names import meant_tier
from conda_llmenv.errors import InputError, NotFoundError
from conda_llmenv.model import Fragment, Kind, Layer, Origin, PipKind, PipRequirement, Source, Sourced
from conda_llmenv.names import check_name
from conda_llmenv.ports import Library
from conda_llmenv.redact import mask

BASE = "base"

MAX_DEPTH = 50
"""Longest chain of files that extend each other."""


class ComposeRequest(Struct, frozen=True):
    """Which layers to stack.

    Attributes:
        tier, recipe: names, or None.
        files: paths (or names of fragments) given with ``-f``, in order; a recipe among them is stacked as one.
        specs: conda specs typed on the command line.
        pip: pip requirements typed on the command line.
        channels: channels typed on the command line, highest priority first.
        override_channels: search the typed channels only.
    """

    tier: str | None = None
    recipe: str | None = None
    files: tuple[Path, ...] = ()
    specs: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    override_channels: bool = False


def stack(request: ComposeRequest, library: Library) -> tuple[Fragment, ...]:
    """Return every fragment of a request in merge order; each file takes part once, where it comes first.

    Raises:
        NotFoundError: a name or file is not there; close names are in the hint.
        FileFormatError: a file cannot be read.
        InputError: files include each other in a circle, or something typed is wrong.
    """
    if request.override_channels and not request.channels:
        raise InputError("--override-channels leaves no channel to search", hint="name one with -c CHANNEL")
    layers = _Stack(library)
    layers.add(library.fragment(BASE), Layer.BASE)
    if request.recipe is not None:
        layers.add(named(request.recipe, Kind.RECIPE, library), Layer.RECIPE, request.recipe)
    given = [_given(path, library) for path in request.files]
    for source in given:
        if source.kind is Kind.RECIPE:
            layers.add(source, Layer.RECIPE, source.name)
    if request.tier is not None:
        layers.add(named(request.tier, Kind.TIER, library), Layer.TIER, request.tier)
    layers.add(library.project(), Layer.PROJECT)
    for source in given:
        layers.add(source, Layer.COMMAND_LINE)
    layers.raise_if_any()
    found = (
        layers.found if not request.override_channels else [_without_channels(fragment) for fragment in layers.found]
    )
    typed = _typed(request)
    return (*found, typed) if typed is not None else tuple(found)


def named(name: str, kind: Kind, library: Library) -> Source:
    """Return the tier or recipe of a name.

    Raises:
        InputError: the name does not fit the written rule.
        NotFoundError: there is none; close names are in the hint.
    """
    if kind is Kind.TIER:
        return _tier(name, library)
    check_name(kind.value, name)
    source = library.recipe(name)
    if source is None:
        raise NotFoundError(f"no {kind.value} is named {name!r}", hint=did_you_mean(name, library.names(kind.value)))
    return source


def _tier(name: str, library: Library) -> Source:
    try:
        check_name(Kind.TIER.value, name)
    except InputError as error:
        error.hint = meant_tier(name, library) or error.hint
        raise
    source = library.tier(name)
    if source is None:
        raise NotFoundError(f"no tier is named {name!r}", hint=meant_tier(name, library))
    return source


def names_workload(request: ComposeRequest, library: Library) -> bool:
    """Return whether a recipe takes part, by its name or as a file.

    Raises:
        NotFoundError: a file is not there.
    """
    return request.recipe is not None or any(_given(path, library).kind is Kind.RECIPE for path in request.files)


def _given(path: Path, library: Library) -> Source:
    """Return what ``-f`` names: a file of any kind, or a fragment by its name where there is no such file.

    Raises:
        NotFoundError: it is neither; close names are in the hint.
    """
    try:
        source = library.file(path)
    except NotFoundError as error:
        named_so = library.fragment(str(path))
        if named_so is not None:
            return named_so
        if isinstance(error.__cause__, FileNotFoundError):
            error.hint = did_you_mean(str(path), library.names("fragment")) or error.hint
        raise
    return replace(source, kind=kind_of(source))


@dataclass
class _Stack:
    """Adds files depth-first: what a file extends comes before it."""

    library: Library
    found: list[Fragment] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)
    errors: list[InputError] = field(default_factory=list)

    def add(self, source: Source | None, layer: Layer, detail: str = "", chain: tuple[Source, ...] = ()) -> None:
        """Add a file and everything it stands on, unless it is there already; mistakes are kept for the end."""
        if source is None or _place(source) in self.seen:
            return
        self.seen.add(_place(source))
        placed = replace(source, layer=layer, detail=detail)
        try:
            fragment = read_fragment(placed, self.library.read, self.library.exists)
        except InputError as error:
            self.errors.append(error)
            return
        for entry in (*fragment.fragments, *fragment.extends):
            self._extend(entry, fragment, (*chain, source))
        self.found.append(fragment)

    def _extend(self, entry: Sourced, fragment: Fragment, chain: tuple[Source, ...]) -> None:
        source = _lookup(entry.value, fragment, self.library)
        if source is None:
            hint = did_you_mean(entry.value, _known(fragment, self.library))
            self.errors.append(
                NotFoundError(
                    f"{entry.origin}: no fragment is named {entry.value!r}", hint=hint, origins=[entry.origin]
                )
            )
        elif _place(source) in (places := [_place(step) for step in chain]):
            steps = [*chain[places.index(_place(source)) :], source]
            circle = " → ".join(step.display for step in steps)
            self.errors.append(
                InputError(
                    f"{entry.origin}: files include each other in a circle: {circle}",
                    hint="remove one of these `extends` entries",
                    origins=[entry.origin],
                )
            )
        elif len(chain) >= MAX_DEPTH:
            self.errors.append(
                InputError(
                    f"{entry.origin}: more than {MAX_DEPTH} files extend each other in a chain",
                    hint="list the fragments in one `extends`, instead of one behind the other",
                    origins=[entry.origin],
                )
            )
        else:
            self.add(source, fragment.origin.layer, fragment.origin.detail, chain)

    def raise_if_any(self) -> None:
        """Report the mistakes of all files together."""
        if not self.errors:
            return
        first, *others = self.errors
        if others:
            first.details = (*first.details, *(line for error in others for line in (error.message, *error.details)))
            first.hint = "; ".join(dict.fromkeys(error.hint for error in self.errors if error.hint))
            first.origins = tuple(origin for error in self.errors for origin in error.origins)
        raise first


def _place(source: Source) -> Path:
    """Return the file itself, whichever name or path led to it."""
    return source.directory / PurePath(source.display).name


def _lookup(name: str, fragment: Fragment, library: Library) -> Source | None:
    """Find what a file extends: a tier looks among the tiers first, everything else among the fragments."""
    finders: list[Callable[[str], Source | None]] = [library.fragment, library.tier]
    if fragment.kind is Kind.TIER:
        finders.reverse()
    return next((source for find in finders if (source := find(name)) is not None), None)


def _known(fragment: Fragment, library: Library) -> Iterable[str]:
    names = library.names("fragment")
    return names if fragment.kind is Kind.RECIPE else (*names, *library.names("tier"))


def _without_channels(fragment: Fragment) -> Fragment:
    return replace(fragment, channels=(), nodefaults=None)


def _typed(request: ComposeRequest) -> Fragment | None:
    """Return what was typed as a fragment of its own, or None if nothing was."""
    if not (request.specs or request.pip or request.channels):
        return None
    origin = Origin(TYPED, None, Layer.COMMAND_LINE)
    channels = dict.fromkeys(channel.strip().rstrip("/") or channel for channel in request.channels)
    nodefaults = request.override_channels or NODEFAULTS in channels
    text = "\n".join((*request.specs, *request.pip, *request.channels, str(request.override_channels)))
    return Fragment(
        name=TYPED,
        kind=Kind.FRAGMENT,
        origin=origin,
        directory=Path(),
        digest=hashlib.sha256(text.encode()).hexdigest(),
        channels=tuple(Sourced(channel, origin) for channel in channels if channel != NODEFAULTS),
        nodefaults=origin if nodefaults else None,
        specs=tuple(_typed_spec(spec, origin) for spec in request.specs),
        pip=tuple(_typed_requirement(text, origin) for text in request.pip),
        has_pip_section=bool(request.pip),
    )


def _typed_spec(text: str, origin: Origin) -> Sourced:
    try:
        parse_spec(text.strip())
    except Unreadable as error:
        raise InputError(mask(error.text), hint=error.hint, origins=[origin]) from error
    return Sourced(text.strip(), origin)


def _typed_requirement(text: str, origin: Origin) -> PipRequirement:
    try:
        (line,) = parse_line(text.strip())
    except Unreadable as error:
        raise InputError(mask(error.text), hint=error.hint, origins=[origin]) from error
    if not isinstance(line, Line) or line.kind in {PipKind.PATH, PipKind.EDITABLE}:
        raise InputError(
            f"{text!r} is no requirement that can be typed", hint="write it into a file and give that with -f"
        )
    return PipRequirement(
        line.text, line.kind, origin, name=line.name, specifier=line.specifier, extras=line.extras, marker=line.marker
    )
