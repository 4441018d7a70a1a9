"""Several ranks under torchrun: collectives by value, their bandwidth, one DDP step and one FSDP step.

Each rank tells what it sees itself; nothing that is judged travels over the collectives that are tested.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import bandwidth, collectives, ddp, fsdp
from .process_group import World, join, leave
from .telling import Teller

LOOKS = {
    "collectives": collectives.look,
    "bandwidth": bandwidth.look,
    "ddp-step": ddp.look,
    "fsdp-step": fsdp.look,
}


def run(asked: Mapping[str, Any], teller: Teller) -> None:
    """Look for each check in turn; leave at the first that raises, since the ranks are out of step then.

    Args:
        asked: ``checks``, ``backend`` (``nccl`` or ``gloo``), ``limit`` (seconds any one collective may take, 60) and
            ``small`` (shorter messages).
        teller: where to tell.
    """
    world = World(asked, teller)
    for check in asked["checks"]:
        with teller.looking(check) as values:
            join(world)
            values.update(world=world.size, backend=world.backend, device=world.name)
            LOOKS[check](world, values)
            world.seen.append(check)
        if check not in world.seen:
            leave(world, check)
    leave(world)
