"""One rank's place in the process group, with a limit on every wait."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Mapping
from typing import Any

from .telling import Teller

LIMIT = 60.0
"""Seconds one collective may take; torch's own ten minutes (NCCL) and thirty (gloo) are longer than anyone watches."""

PATIENCE = 3.0
"""Seconds that a rank whose check raised gives the others to say the same before it ends them all."""


class World:
    """This rank, its device, and the settings all ranks were given.

    Attributes:
        rank, size: of this process.
        backend: ``nccl`` or ``gloo``.
        device: the ``torch.device`` of this rank's tensors; None until :func:`join`.
        name: the card's product name, or ``cpu``.
        limit: seconds one collective may take.
        small: shorter messages are asked for.
        seen: checks that this rank has ended without an exception.
    """

    def __init__(self, asked: Mapping[str, Any], teller: Teller) -> None:
        self.rank = int(os.environ["RANK"])
        self.size = int(os.environ["WORLD_SIZE"])
        self.local_rank = int(os.environ.get("LOCAL_RANK", self.rank))
        self.backend: str = asked.get("backend") or "gloo"
        self.limit = float(asked.get("limit") or LIMIT)
        self.small = bool(asked.get("small"))
        self.seen: list[str] = []
        self.device: Any = None
        self.name = "cpu"
        self._teller = teller
        self._last = ""

    def step(self, text: str) -> None:
        """Tell what this rank does next, before it may wait for the others."""
        self._last = text
        self._teller.step(text)

    def gave_up(self) -> None:
        """Tell that this rank waits no longer, so that the one it waited for stands out."""
        self._teller.step("gave up: " + self._last)

    def finish(self) -> None:
        """Wait for what was queued on this rank's card."""
        if self.backend == "nccl":
            import torch

            torch.cuda.synchronize()

    def barrier(self) -> None:
        """Wait until every rank is here."""
        import torch.distributed as dist

        if self.backend == "nccl":
            dist.barrier(device_ids=[self.device.index])
        else:
            dist.barrier()
        self.finish()


def single(name: str) -> Any:
    """Return the collective over one tensor: ``all_gather`` and ``reduce_scatter`` got new names in torch 2.13."""
    import torch.distributed as dist

    older = {"all_gather": "all_gather_into_tensor", "reduce_scatter": "reduce_scatter_tensor"}
    return getattr(dist, name + "_single", None) or getattr(dist, older[name])


def join(world: World) -> None:
    """Join the process group once; raises whatever torch raises where the ranks cannot reach one another."""
    if world.device is not None:
        return
    import torch
    import torch.distributed as dist

    if world.backend == "nccl":
        torch.cuda.set_device(world.local_rank % torch.cuda.device_count())
    world.step(f"joining the process group ({world.backend})")
    dist.init_process_group(world.backend, timeout=dt.timedelta(seconds=world.limit))
    if world.backend == "nccl":
        world.device = torch.device("cuda", torch.cuda.current_device())
        world.name = torch.cuda.get_device_name()
    else:
        world.device = torch.device("cpu")
        torch.set_num_threads(1)
    torch.set_float32_matmul_precision("highest")  # TF32 is off by default, but a variable or a library may turn it on


def leave(world: World, raised: str = "") -> None:
    """End this process: in good order, or with 1 after a check that raised, as its communicators may never close."""
    import torch.distributed as dist

    if not raised:
        world.step("leaving the process group")
        dist.destroy_process_group()
        return
    world.gave_up()
    _wait_for_others(world, raised)
    sys.stderr.flush()
    os._exit(1)


def _wait_for_others(world: World, raised: str) -> None:
    """Let ranks that meet the same exception tell it too, before torchrun ends all of them."""
    import torch.distributed as dist

    patience = dt.timedelta(seconds=PATIENCE)
    keys = [f"llmenv/{raised}/{rank}" for rank in range(world.size)]
    try:
        store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), timeout=patience)
        store.set(keys[world.rank], "raised")
        store.wait(keys, patience)
    except Exception as error:  # a rank that is gone or hangs is what this wait allows for
        sys.stderr.write(f"not every rank raised: {str(error).splitlines()[0]}\n")
