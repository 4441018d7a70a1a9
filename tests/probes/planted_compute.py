"""A ``sitecustomize`` for copies of an environment: plants one fault into torch, the one that ``PLANTED`` names."""

from __future__ import annotations

import importlib
import os
import signal
import time
from typing import Any

FAULT = os.environ.get("PLANTED", "")

RIGHT: list[Any] = []
"""What was there before."""


def plant(torch: Any) -> None:
    """Put the fault where a training program would meet it."""
    FAULTS[FAULT](torch)


def wrong_products(torch: Any) -> None:
    """Products of float32 are off by a ten-thousandth."""
    right = torch.matmul

    def matmul(one: Any, other: Any) -> Any:
        return right(one, other) * (1.0001 if one.dtype == torch.float32 else 1)

    torch.matmul = matmul


def one_wrong_tile(torch: Any) -> None:
    """One element of a bfloat16 product is lost."""
    right = torch.matmul

    def matmul(one: Any, other: Any) -> Any:
        product = right(one, other)
        if one.dtype == torch.bfloat16:
            product[:64, :64] = 0
        return product

    torch.matmul = matmul


def not_a_number(torch: Any) -> None:
    """A product of float16 holds a NaN."""
    right = torch.matmul

    def matmul(one: Any, other: Any) -> Any:
        product = right(one, other)
        if one.dtype == torch.float16:
            product[3, 5] = float("nan")
        return product

    torch.matmul = matmul


def wrong_everywhere(torch: Any) -> None:
    """Every product is wrong by the same factor, the one that others are compared with too."""
    matmul, mm = torch.matmul, torch.mm
    torch.matmul = lambda one, other: matmul(one, other) * 1.0001
    torch.mm = lambda one, other: mm(one, other) * 1.0001


def other_bits(torch: Any) -> None:
    """A product is right to the limit and never the same."""
    right = torch.matmul
    torch.matmul = lambda one, other: right(one, other) * (1 + 1e-6 * torch.rand(()))


def blind_scaler(torch: Any) -> None:
    """The gradient scaler multiplies by its scale again after it has divided by it."""
    right = torch.amp.GradScaler.unscale_

    def unscale(self: Any, optimizer: Any) -> None:
        right(self, optimizer)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad.mul_(self.get_scale())

    torch.amp.GradScaler.unscale_ = unscale


def frozen_optimizer(torch: Any) -> None:
    """An optimizer does nothing."""
    torch.optim.SGD.step = lambda _self, closure=None: None


def wrong_compiler(torch: Any) -> None:
    """Compiled code adds a tenth."""
    torch.compile = lambda function: lambda *given: function(*given) + 0.1


def reversed_batches(torch: Any) -> None:
    """Workers put samples together in the wrong order."""
    collate: Any = importlib.import_module("torch.utils.data._utils.collate")
    RIGHT.append(collate.default_collate)
    collate.default_collate = reversed_collate


def reversed_collate(batch: list[Any]) -> Any:
    """Stand in for what a spawned worker finds by its name."""
    return RIGHT[0](list(reversed(batch)))


def dying_workers(torch: Any) -> None:
    """A worker process is killed as it begins."""
    module: Any = importlib.import_module("torch.utils.data._utils.worker")
    module._worker_loop = die_at_work


def die_at_work(*_given: Any) -> None:
    """End as one does that the kernel takes the memory from."""
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def other_values(torch: Any) -> None:
    """What is loaded is not what was saved."""
    right = torch.load
    torch.load = lambda *given, **named: {name: one + 1 for name, one in right(*given, **named).items()}


def slow_save(torch: Any) -> None:
    """Saving begins and does not end."""
    right = torch.save

    def save(*given: Any) -> None:
        right(*given)
        time.sleep(600)

    torch.save = save


FAULTS = {
    one.__name__: one
    for one in (
        wrong_products,
        one_wrong_tile,
        not_a_number,
        wrong_everywhere,
        other_bits,
        blind_scaler,
        frozen_optimizer,
        wrong_compiler,
        reversed_batches,
        dying_workers,
        other_values,
        slow_save,
    )
}

if FAULT:
    plant(importlib.import_module("torch"))
