"""The one composed environment: what every fragment together asks for, with the reason for each value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from conda_llmenv.model.fragments import Fragment, PipOption, PipRequirement, Variable
from conda_llmenv.model.provenance import Origin, Sourced


class Notice(Struct, frozen=True):
    """Something a person should know that does not stop the work."""

    code: str
    message: str
    origins: tuple[Origin, ...] = ()
    hint: str = ""


class MergedChannel(Struct, frozen=True):
    """A channel of the merged order with every fragment that lists it."""

    name: str
    origins: tuple[Origin, ...]


class MergedSpec(Struct, frozen=True):
    """One conda package after merging.

    Attributes:
        name: normalised package name.
        texts: the MatchSpecs to hand to a solver (one, unless two build globs had to be kept apart), each in a
            spelling that conda, mamba and rattler read the same way.
        parts: what each layer wrote, in layer order; all of them hold.
        dropped: what a later layer replaced or removed, with who did so in ``taken_over``.
        taken_over: the ``replace``/``remove`` entry that dropped them, if any.
    """

    name: str
    texts: tuple[str, ...]
    parts: tuple[Sourced, ...]
    dropped: tuple[Sourced, ...] = ()
    taken_over: Origin | None = None


class MergedVariable(Struct, frozen=True):
    """A variable after merging: the last layer's value, and the earlier ones it overrides."""

    name: str
    value: str | None
    origin: Origin
    overridden: tuple[Variable, ...] = ()
    why: str = ""


class PipSection(Struct, frozen=True):
    """The merged pip section: options once, at the top and in order; then requirements in order.

    ``requirements`` has one entry per distribution for NAMED ones (specifiers intersected, extras united), with the
    entries it was merged from in ``parts[i]``.
    """

    options: tuple[PipOption, ...] = ()
    requirements: tuple[PipRequirement, ...] = ()
    parts: tuple[tuple[PipRequirement, ...], ...] = ()
    no_build_isolation: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything has to be installed by pip."""
        return bool(self.requirements)


class EnvSpec(Struct, frozen=True):
    """Everything the layers asked for, merged.

    Attributes:
        channels: in priority order, highest first; ``nodefaults`` is never among them.
        nodefaults: the origin of the marker, or None: configured ``defaults`` are then used.
        channel_priority: ``strict``, ``flexible`` or ``disabled``.
        virtual_packages: what a tier assumes on a machine that lacks it (``__cuda`` → ``12.4``).
        tier, recipe: the files that took part, or None.
        layers: every fragment in merge order.
        verify, defaults: merged settings of the layers (later wins).
        includes: (display path, sha256) of each requirements or constraints file read.
    """

    channels: tuple[MergedChannel, ...] = ()
    nodefaults: Origin | None = None
    channel_priority: str = "strict"
    specs: tuple[MergedSpec, ...] = ()
    pip: PipSection = PipSection()
    variables: tuple[MergedVariable, ...] = ()
    virtual_packages: tuple[tuple[str, Sourced], ...] = ()
    tier: Fragment | None = None
    recipe: Fragment | None = None
    layers: tuple[Fragment, ...] = ()
    driver: Sourced | None = None
    verify: Mapping[str, Any] = {}
    defaults: Mapping[str, Any] = {}
    includes: tuple[tuple[str, str], ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def variable_values(self) -> dict[str, str]:
        """The variables that have a value; one without takes away what would be set otherwise."""
        return {one.name: one.value for one in self.variables if one.value is not None}

    def spec(self, name: str) -> MergedSpec | None:
        """Return the merged spec of a package, or None if no layer asks for it."""
        return next((spec for spec in self.specs if spec.name == name), None)
