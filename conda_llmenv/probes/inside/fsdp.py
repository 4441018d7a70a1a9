"""One FSDP2 step against the gradient of a single process."""

from __future__ import annotations

from typing import Any

from . import tiny_model as tiny
from .process_group import World


def look(world: World, values: dict[str, Any]) -> None:
    """Tell how the gradients of a fully sharded model differ from those of the whole batch on one process."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh

    fully_shard = _fully_shard()
    if fully_shard is None:
        values["absent"] = f"torch {torch.__version__} has no fully_shard"
        return
    count = tiny.PER_RANK * world.size
    model = tiny.build(torch.float32, world.device)
    values["initial"] = tiny.hash_of(tiny.hashes(model.named_parameters()))
    whole = tiny.gradients_of(model, tiny.samples(range(count), torch.float32, world.device))
    model.zero_grad(set_to_none=True)
    world.step("sharding the model")
    mesh = init_device_mesh(world.device.type, (world.size,))
    fully_shard(model[1], mesh=mesh)  # the block on its own, as in training; then what is left
    fully_shard(model, mesh=mesh)
    batch = tiny.samples(range(world.rank, count, world.size), torch.float32, world.device)
    world.step("FSDP forward")
    loss = tiny.loss_of(model, batch)
    world.step("FSDP backward")
    loss.backward()
    world.step("gathering the gradients")
    got = {name: parameter.grad.full_tensor() for name, parameter in model.named_parameters()}
    values.update(tiny.compared(got, whole), loss=loss.item(), precision=tiny.precision(got))
    parameters = list(model.parameters())
    values["share"] = sum(one.to_local().numel() for one in parameters) / sum(one.numel() for one in parameters)


def _fully_shard() -> Any:
    """Return FSDP2's entry: public since torch 2.6, in a private place since 2.4, None before."""
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        try:
            from torch.distributed._composable.fsdp import fully_shard
        except ImportError:
            return None
    return fully_shard
