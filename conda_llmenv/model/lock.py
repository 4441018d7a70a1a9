"""What a lockfile says about an environment, before any format of writing it down."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class LockedEnvironment(Struct, frozen=True):
    """One environment, pinned, without the place it lives at and without credentials.

    Attributes:
        packages: name → version of every conda package.
        channels: names or clean URLs, highest priority first.
        nodefaults: the configured channels are not to be added.
        pip: lines of a requirements file: options first, then one pinned requirement each.
        variables: what activation sets.
        facts: what a reader of the file should know, label → text, such as ``tier`` → ``a100``.
    """

    packages: Mapping[str, str]
    channels: tuple[str, ...] = ()
    nodefaults: bool = False
    pip: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}
    facts: Mapping[str, str] = {}

    @property
    def dependencies(self) -> tuple[str, ...]:
        """Every package as ``name=version``, sorted by name."""
        return tuple(f"{name}={version}" for name, version in sorted(self.packages.items()))


class AskedEnvironment(Struct, frozen=True):
    """What was asked for when an environment was made, composed but not solved; fields as in a lock.

    Attributes:
        dependencies: specs, as the layers together ask for them.
    """

    dependencies: tuple[str, ...]
    channels: tuple[str, ...] = ()
    nodefaults: bool = False
    pip: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}
