"""Faults for an environment's torch: copied into its ``site-packages`` with a ``.pth`` file that imports it.

``PLANTED`` names the faults, separated by commas; they are applied in the ranks of a distributed run once torch is
imported, in rank 1 alone where a fault is one rank's.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import time
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

EVERYWHERE = {"sum-not-divided", "no-ddp"}


class AfterTorch(MetaPathFinder):
    """Lets torch be found as always and plants faults when it has been loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return torch's own spec with a loader that does one thing more."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        assert spec is not None
        assert spec.loader is not None
        load = spec.loader.exec_module

        def load_and_plant(module: ModuleType) -> None:
            load(module)
            plant(module)

        spec.loader.exec_module = load_and_plant  # type: ignore[method-assign]  # this one instance is torch's alone
        return spec


def plant(torch: Any) -> None:
    """Apply the faults of this rank."""
    for name in os.environ["PLANTED"].split(","):
        if name in EVERYWHERE or os.environ["RANK"] == "1":
            FAULTS[name](torch)


def wrong_value(torch: Any) -> None:
    """Add one to what this rank puts into a sum."""
    right = torch.distributed.all_reduce

    def all_reduce(tensor: Any, *arguments: Any, **named: Any) -> Any:
        if tensor.numel() > 1000:
            tensor[1000] += 1
        return right(tensor, *arguments, **named)

    torch.distributed.all_reduce = all_reduce


def _in_broadcast(torch: Any, act: Any) -> None:
    right = torch.distributed.broadcast

    def broadcast(tensor: Any, *arguments: Any, **named: Any) -> Any:
        if tensor.numel() > 1000:
            act()
        return right(tensor, *arguments, **named)

    torch.distributed.broadcast = broadcast


def sleeps(torch: Any) -> None:
    """Never come to a broadcast."""
    _in_broadcast(torch, lambda: time.sleep(3600))


def hides_a_child(torch: Any) -> None:
    """Start a process in a session of its own that outlives all others, then never come to a broadcast."""

    def sleep() -> None:
        if os.fork() == 0:
            os.setsid()
        time.sleep(3600)

    _in_broadcast(torch, sleep)


def leaves(torch: Any) -> None:
    """End without a word."""
    _in_broadcast(torch, lambda: os._exit(7))


def is_killed(torch: Any) -> None:
    """End as the kernel ends what takes too much memory."""
    _in_broadcast(torch, lambda: os.kill(os.getpid(), signal.SIGKILL))


def other_seed(torch: Any) -> None:
    """Seed otherwise than asked."""
    right = torch.manual_seed
    torch.manual_seed = lambda seed: right(seed + 1)


def stale_parameter(torch: Any) -> None:
    """Undo what an optimizer does to the first parameter."""
    right = torch.optim.AdamW.step

    def step(optimizer: Any, *arguments: Any, **named: Any) -> Any:
        first = optimizer.param_groups[0]["params"][0]
        before = first.detach().clone()
        result = right(optimizer, *arguments, **named)
        with torch.no_grad():
            first.copy_(before)
        return result

    torch.optim.AdamW.step = step


def late_parameter(torch: Any) -> None:
    """Leave out one of an optimizer's steps for the last parameter."""
    right = torch.optim.AdamW.step

    def step(optimizer: Any, *arguments: Any, **named: Any) -> Any:
        last = optimizer.param_groups[0]["params"][-1]
        before = last.detach().clone()
        done = float(optimizer.state[last].get("step", 0))
        result = right(optimizer, *arguments, **named)
        if done == 1:
            with torch.no_grad():
                last.copy_(before)
        return result

    torch.optim.AdamW.step = step


def uneven_shard(torch: Any) -> None:
    """Leave out three samples."""
    sampler = torch.utils.data.DistributedSampler
    right = sampler.__iter__
    sampler.__iter__ = lambda self: iter(list(right(self))[3:])


def other_shuffle(torch: Any) -> None:
    """Shuffle with another seed."""
    sampler = torch.utils.data.DistributedSampler
    right = sampler.__init__

    def init(self: Any, *arguments: Any, **named: Any) -> None:
        right(self, *arguments, **named)
        self.seed += 1

    sampler.__init__ = init


def sum_not_divided(torch: Any) -> None:
    """Take over DDP's reduction with a hook that forgets to divide; of float64 alone, to leave the rest of a run."""
    wrapper = torch.nn.parallel.DistributedDataParallel
    right = wrapper.__init__

    def add(state: None, bucket: Any) -> Any:
        future = torch.distributed.all_reduce(bucket.buffer(), async_op=True).get_future()
        return future.then(lambda done: done.value()[0])

    add.__annotations__.clear()  # torch wants its own types there or none

    def init(self: Any, *arguments: Any, **named: Any) -> None:
        right(self, *arguments, **named)
        if next(self.parameters()).dtype == torch.float64:
            self.register_comm_hook(None, add)

    wrapper.__init__ = init


def bfloat16(torch: Any) -> None:
    """Compute in bfloat16 what is asked for in float32."""
    wrapper = torch.nn.parallel.DistributedDataParallel
    right = wrapper.forward

    def forward(self: Any, *arguments: Any, **named: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return right(self, *arguments, **named).to(arguments[0].dtype)

    wrapper.forward = forward


def no_ddp(torch: Any) -> None:
    """Refuse to wrap a model."""

    def init(self: Any, *arguments: Any, **named: Any) -> None:
        raise RuntimeError("DDP is not for you")

    torch.nn.parallel.DistributedDataParallel.__init__ = init


FAULTS = {
    "wrong-value": wrong_value,
    "sleeps": sleeps,
    "hides-a-child": hides_a_child,
    "leaves": leaves,
    "is-killed": is_killed,
    "other-seed": other_seed,
    "stale-parameter": stale_parameter,
    "late-parameter": late_parameter,
    "uneven-shard": uneven_shard,
    "other-shuffle": other_shuffle,
    "sum-not-divided": sum_not_divided,
    "bfloat16": bfloat16,
    "no-ddp": no_ddp,
}

if "PLANTED" in os.environ and "RANK" in os.environ:
    sys.meta_path.insert(0, AfterTorch())
