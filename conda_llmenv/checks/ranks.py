"""Checks of several ranks under torchrun: collectives by value, their bandwidth, a DDP step and an FSDP step."""

from __future__ import annotations

from functools import partial

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.ranks_bandwidth import bandwidth
from conda_llmenv.checks.ranks_collectives import exact
from conda_llmenv.checks.ranks_steps import ddp, fsdp
from conda_llmenv.model import Level

SECONDS = 60.0
"""Some twenty times what any of them takes on two busy cores."""

_check = partial(Check, group="ranks", level=Level.FULL, probe="ranks", timeout=SECONDS, torch=True)

CHECKS = (
    _check(
        id="collectives",
        title="collectives are exact on every rank",
        judge=exact,
        needs=("torch-import",),
        fix="`NCCL_DEBUG=INFO TORCH_DISTRIBUTED_DEBUG=DETAIL llmenv verify -p {prefix} --only collectives` "
        "tells where ranks wait; "
        "on a machine with several networks set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to the right one",
    ),
    _check(
        id="bandwidth",
        title="collectives are as fast as they were",
        judge=bandwidth,
        needs=("torch-import", "collectives"),
        fix="`NCCL_DEBUG=INFO llmenv verify -p {prefix} --only bandwidth` tells which links are used",
    ),
    _check(
        id="ddp-step",
        title="a DDP step is that of one process",
        judge=ddp,
        needs=("torch-import", "collectives"),
        fix="`TORCH_DISTRIBUTED_DEBUG=DETAIL llmenv verify -p {prefix} --only ddp-step` "
        "tells which collective does not match",
    ),
    _check(
        id="fsdp-step",
        title="an FSDP step is that of one process",
        judge=fsdp,
        needs=("torch-import", "collectives"),
        fix="`TORCH_DISTRIBUTED_DEBUG=DETAIL llmenv verify -p {prefix} --only fsdp-step` "
        "tells which collective does not match",
    ),
)
