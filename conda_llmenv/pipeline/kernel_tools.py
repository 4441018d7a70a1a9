"""What work on Jupyter kernels may touch, as ports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from conda_llmenv.model.kernels import Inside, Kernelspec, Place, Registration


class Identity(Struct, frozen=True):
    """What an environment of ours says about itself; empty for one that is not."""

    tier: str | None = None
    recipe: str | None = None


class KernelTools(Struct, frozen=True):
    """What work on kernels may touch.

    Attributes:
        places: folders that any Jupyter of this account reads, in its order.
        environments: the environments that are known on this machine.
        inside_places: folders of kernelspecs inside environments.
        read: kernelspecs in some folders.
        look: what is inside an environment.
        runs: whether a program is there and may be run.
        identity: what an environment says about itself.
        register: makes a kernelspec, in the place of ours or none.
        remove: removes one of ours.
    """

    places: tuple[Place, ...]
    environments: Callable[[], tuple[Path, ...]]
    inside_places: Callable[[Iterable[Path]], tuple[Place, ...]]
    read: Callable[[Iterable[Place]], tuple[Kernelspec, ...]]
    look: Callable[[Path], Inside]
    runs: Callable[[str], bool]
    identity: Callable[[Path], Identity]
    register: Callable[[Registration], Kernelspec]
    remove: Callable[[Kernelspec], None]

    def everything(self) -> tuple[Kernelspec, ...]:
        """Return every kernelspec of the machine; one folder that is read in two ways counts once."""
        return self.read((*self.places, *self.inside_places(self.environments())))
