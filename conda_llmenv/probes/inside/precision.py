"""Training steps in reduced precision: gradients against float32, a loss that falls, attention by value."""

from __future__ import annotations

import math
from typing import Any

from .devices import has_bf16, on_each, told

STEPS = 5
WIDTH = 64
RATE = 0.05
FIRST_SCALE = 1024.0
"""Of the gradient scaler: the default of 65536 may overflow in the first steps, which is no fault."""


def look(torch: Any, names: list[str]) -> dict[str, Any]:
    """Return what five steps of a small network come to on each device, in bfloat16 and float16."""
    return {"devices": on_each(torch, names, lambda device, about: on_device(torch, device, about))}


def on_device(torch: Any, device: str, about: dict[str, Any]) -> dict[str, Any]:
    """Return losses, gradient errors and attention errors of each precision on one device."""
    exact = Training(torch, device, None)
    exact.step()
    types = {"bf16": torch.bfloat16, "fp16": torch.float16}
    found: dict[str, Any] = {}
    for name, dtype in types.items():
        if name == "bf16" and not has_bf16(about):
            emulated = "compute capability {}.{} only emulates bfloat16: train in float16"
            found[name] = {"unsupported": emulated.format(*about["capability"])}
        elif not casts(torch, device, dtype):
            found[name] = {"unsupported": "this torch has no autocast to " + name + " on this device"}
        else:
            found[name] = {
                **trained(torch, device, dtype, exact.first_gradients),
                **attention(torch, device, dtype),
            }
    return {"precisions": found}


def casts(torch: Any, device: str, dtype: Any) -> bool:
    """Return whether autocast to a type has an effect: an unsupported one is only warned about."""
    layer = torch.nn.Linear(8, 8).to(device)
    try:
        with torch.autocast(device.partition(":")[0], dtype=dtype):
            return bool(layer(torch.ones(8, 8, device=device)).dtype == dtype)
    except RuntimeError:
        return False


class Training:
    """A network that always starts the same, and its optimizer."""

    def __init__(self, torch: Any, device: str, dtype: Any) -> None:
        self.torch, self.device, self.dtype = torch, device, dtype
        torch.manual_seed(3)
        nn = torch.nn
        self.model = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.LayerNorm(2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        ).to(device)
        self.inputs = torch.randn(WIDTH, WIDTH).to(device)
        self.wanted = torch.randn(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=RATE)
        self.scaler = scaler(torch, device) if dtype == torch.float16 else None
        self.first_gradients: list[Any] = []

    def step(self) -> float:
        """Take one step; return the loss before it."""
        self.optimizer.zero_grad()
        with self.torch.autocast(self.device.partition(":")[0], dtype=self.dtype, enabled=self.dtype is not None):
            loss = self.torch.nn.functional.mse_loss(self.model(self.inputs).float(), self.wanted)
        if self.scaler is None:
            loss.backward()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
        if not self.first_gradients:
            self.first_gradients = [one.grad.detach().double().cpu() for one in self.model.parameters()]
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return float(loss.detach())


def scaler(torch: Any, device: str) -> Any:
    """Return a gradient scaler; torch before 2.3 has one for cards only."""
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(device.partition(":")[0], init_scale=FIRST_SCALE)
    return torch.cuda.amp.GradScaler(init_scale=FIRST_SCALE)


def trained(torch: Any, device: str, dtype: Any, exact: list[Any]) -> dict[str, Any]:
    """Return the losses of five steps and how far the first gradients are from those in float32."""
    training = Training(torch, device, dtype)
    losses = [training.step() for _ in range(STEPS)]
    gradients = training.first_gradients
    finite = all(math.isfinite(loss) for loss in losses) and all(bool(torch.isfinite(one).all()) for one in gradients)
    found: dict[str, Any] = {"finite": finite, "scaler": training.scaler is not None}
    if finite:
        flat, wanted = (torch.cat([one.flatten() for one in many]) for many in (gradients, exact))
        found["gradient_error"] = float((flat - wanted).norm() / wanted.norm())
        found["losses"] = losses
    if training.scaler is not None:
        found["scale"] = float(training.scaler.get_scale())
    return found


def attention(torch: Any, device: str, dtype: Any) -> dict[str, Any]:
    """Return the error of the attention that torch chooses here, against float64 of the rounded inputs.

    torch before 2.0 has none to choose.
    """
    attend = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if attend is None:
        return {}
    generator = torch.Generator().manual_seed(5)
    query, key, value = (torch.randn(2, 4, WIDTH, WIDTH, generator=generator).to(dtype) for _ in range(3))
    scores = query.double() @ key.double().transpose(-1, -2) / math.sqrt(WIDTH)
    wanted = scores.softmax(-1) @ value.double()
    try:
        got = attend(query.to(device), key.to(device), value.to(device)).double().cpu()
    except RuntimeError as error:
        return {"attention": told(error)}
    return {"attention_error": float((got - wanted).norm() / wanted.norm())}
