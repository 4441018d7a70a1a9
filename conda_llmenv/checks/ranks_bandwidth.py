"""Bus bandwidth of collectives: told for comparison, and warned of where a known kind of machine misses its floor."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from msgspec import Struct

from conda_llmenv.checks.ranks_worlds import World, sizes, worlds
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status


class Floor(Struct, frozen=True):
    """The bus bandwidth in GB/s that an all_reduce over all cards of a node reaches when nothing is wrong."""

    card: str
    cards: int
    busbw: float


FLOORS = (Floor("A100", 8, 228.0), Floor("H100", 8, 460.0), Floor("H200", 8, 480.0))
"""Source: the floors of Azure's node health checks (azurehpc-health-checks) for 16 GiB over NVLink."""

WITHOUT_NVSWITCH = ("PCIe", "NVL")
"""Words in a product's name that tell that its eight cards are not joined by switches."""

SHARE = 0.85
"""Part of a floor below which is warned: our messages are at most 1 GiB, and reach less than those of 16 GiB."""

GIB = 1 << 30

MIB = 1 << 20


def bandwidth(scene: Scene) -> Finding:
    """Tell what the slowest rank saw; warn where a floor is known and clearly missed, fail never."""
    found = tuple(world for world in worlds(scene, "bandwidth") if "ops" in world.ranks[0])
    if not found:
        return Finding(Status.SKIP, "one rank has no one to exchange with")
    largest = found[-1]
    rates = {name: _busbw(largest, name) for name in largest.ranks[0]["ops"]}
    prefix = "" if largest.backend == "nccl" else f"{largest.backend}_"
    figures = {f"{prefix}{name}_busbw_gbs": round(rate, 3) for name, rate in rates.items()}
    floor = _floor(largest)
    detail = tuple(line for world in found for line in _lines(world))
    measured = f"{rates['all_reduce']:.3g} GB/s"
    if floor is not None and rates["all_reduce"] < SHARE * floor.busbw:
        return Finding(
            Status.WARN,
            f"all_reduce over {floor.cards} {floor.card} has a bus bandwidth of {measured}, far below the usual floor",
            measured,
            f"≥ {SHARE * floor.busbw:.0f} GB/s ({SHARE:.0%} of {floor.busbw:.0f})",
            f"`nvidia-smi topo -m` tells whether all links are NVLink, and `NCCL_DEBUG=INFO llmenv verify -p "
            f"{shlex.quote(scene.prefix)} --only bandwidth` whether they are used",
            detail,
            figures,
        )
    summary = f"all_reduce has a bus bandwidth of {measured} with {sizes((largest,))}"
    return Finding(Status.PASS, summary, measured, detail=detail, figures=figures)


def _busbw(world: World, name: str) -> float:
    return min(float(values["ops"][name]["busbw_gbs"]) for values in world.ranks.values())


def _lines(world: World) -> Iterator[str]:
    for name, first in world.ranks[0]["ops"].items():
        slowest = max(values["ops"][name]["seconds"] for values in world.ranks.values())
        yield (
            f"{world.words}, {name} of {first['bytes'] / MIB:.0f} MiB: {slowest * 1e3:.3g} ms, "
            f"bus {_busbw(world, name):.3g} GB/s"
        )


def _floor(world: World) -> Floor | None:
    """Return the floor that holds for these cards; none where names differ or the size of messages was cut short."""
    names = {str(values["device"]) for values in world.ranks.values()}
    if world.backend != "nccl" or len(names) != 1 or world.ranks[0]["ops"]["all_reduce"]["bytes"] < GIB // 2:
        return None
    words = next(iter(names)).replace("-", " ").split()
    if any(word in words for word in WITHOUT_NVSWITCH):
        return None
    return next((floor for floor in FLOORS if floor.card in words and floor.cards == world.size), None)
