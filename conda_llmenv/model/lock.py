"""What a lockfile says about an environment, before any format of writing it down."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from conda_llmenv.model.pip import PipPackage
from conda_llmenv.model.solve import Channel, Record


class LockedPlatform(Struct, frozen=True):
    """The packages of one platform, each sorted by name.

    A format that has less than a record leaves the rest empty: an ``environment.lock.yml`` has name and version only,
    an explicit list has what its addresses and hashes say.

    Attributes:
        subdir: such as ``linux-64``.
        records: conda packages; URLs are clean.
        pip: distributions, pinned; requirement lines are clean.
    """

    subdir: str
    records: tuple[Record, ...] = ()
    pip: tuple[PipPackage, ...] = ()

    def record(self, name: str) -> Record | None:
        """Return the record of a package, or None."""
        return next((record for record in self.records if record.name == name), None)


class Lock(Struct, frozen=True):
    """One environment, pinned for one platform or several, without the place it lives at and without credentials.

    Attributes:
        platforms: at least one.
        channels: name and clean address, highest priority first.
        nodefaults: the configured channels are not to be added.
        specs: conda specs that were asked for; empty where the format or the tool that wrote it does not say.
        pip_options: option lines of the pip section (indexes, mostly), in order.
        variables: what activation sets.
        facts: what a reader of the file should know, label → text, such as ``tier`` → ``a100``.
        input_hash: what the composed layers came to when this was locked; empty where nobody noted it.
        lines: package name → line of the file that was read, for messages; empty in a lock that was not read.
    """

    platforms: tuple[LockedPlatform, ...]
    channels: tuple[Channel, ...] = ()
    nodefaults: bool = False
    specs: tuple[str, ...] = ()
    pip_options: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}
    facts: Mapping[str, str] = {}
    input_hash: str = ""
    lines: Mapping[str, int] = {}

    def platform(self, subdir: str) -> LockedPlatform | None:
        """Return what is locked for a platform, or None."""
        return next((platform for platform in self.platforms if platform.subdir == subdir), None)


class AskedEnvironment(Struct, frozen=True):
    """What was asked for when an environment was made, composed but not solved; fields as in a lock.

    Attributes:
        dependencies: specs, as the layers together ask for them.
        pip: lines of a requirements file: options first, then the requirements.
    """

    dependencies: tuple[str, ...]
    channels: tuple[str, ...] = ()
    nodefaults: bool = False
    pip: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}
