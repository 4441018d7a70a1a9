"""Looks at arithmetic: products by value, reduced precisions, repeatability and the memory of cards."""

from __future__ import annotations

from typing import Any

from . import memory, precision, products, repeatability
from .devices import devices, load_torch

LOOKS = {
    "precision": precision.look,
    "repeatability": repeatability.look,
    "memory": memory.look,
}


def run(asked: dict[str, Any], teller: Any) -> None:
    """Look at what is asked on every card, or on the processor; ``asked["device"]`` names another device.

    ``asked["small"]`` makes the products small enough for a preflight.
    """
    teller.step("import torch")
    torch = load_torch()
    names = devices(torch, asked)
    for check in asked["checks"]:
        teller.step(check)
        with teller.looking(check) as values:
            if check == "matmul":
                values.update(products.look(torch, names, small=bool(asked.get("small"))))
            else:
                values.update(LOOKS[check](torch, names))
