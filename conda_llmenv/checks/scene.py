"""Everything a judgement may look at: the machine, what was asked of the environment, and what probes saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from conda_llmenv.hardware import Tables
from conda_llmenv.model import Fragment, HostFacts, Observation


class Scene(Struct, frozen=True):
    """The circumstances of a run.

    Attributes:
        prefix: path of the environment.
        host: facts of this machine.
        tables: the dated tables of drivers, cards and frameworks.
        tier: name of the tier the environment was made for, or None.
        tier_layer: that tier, or why it cannot be read here; None where the environment was made for no card.
        cuda_tier: the environment was made for a card of NVIDIA's.
        has_python: there is, or should be, a Python in it.
        settings: the merged ``verify`` settings of the layers.
        variables: what activation sets.
        environ: variables of the calling shell.
        seen: id of a check to what was observed for it, one entry a rank (or a world size and rank).
    """

    prefix: str
    host: HostFacts
    tables: Tables
    tier: str | None = None
    tier_layer: Fragment | str | None = None
    cuda_tier: bool = False
    has_python: bool = True
    settings: Mapping[str, Any] = {}
    variables: Mapping[str, str] = {}
    environ: Mapping[str, str] = {}
    seen: Mapping[str, tuple[Observation, ...]] = {}

    def values(self, check: str) -> Mapping[str, Any]:
        """Return what the first rank saw for a check; an empty mapping where nothing was seen."""
        good = (one for one in self.seen.get(check, ()) if not one.error)
        return next((one.values for one in good), {})

    def every(self, check: str) -> tuple[Observation, ...]:
        """Return what all ranks saw for a check, in rank order."""
        return tuple(sorted(self.seen.get(check, ()), key=lambda one: one.rank))

    def has(self, check: str) -> bool:
        """Return whether something was seen for a check."""
        return bool(self.values(check))

    @property
    def has_torch(self) -> bool:
        """Whether torch is installed in the environment (importable or not)."""
        return bool(self.values("installed").get("torch"))

    @property
    def has_gpu(self) -> bool:
        """Whether this machine has a card that its driver knows."""
        return bool(self.host.gpus)
