"""Lets model libraries train tiny networks of random weights for some steps: nothing is downloaded."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable
from typing import Any

from .devices import devices, load_torch

STEPS = 5
RATE = 0.05
VOCABULARY = 128


def run(asked: dict[str, Any], teller: Any) -> None:
    """Tell of each of ``asked["libraries"]`` under its own name."""
    torch = load_torch()
    device = devices(torch, asked)[0]
    for library in asked["libraries"]:
        with teller.looking(library) as values:
            torch.manual_seed(17)
            values.update({"device": device, **STEPPED[library](torch, device)})


def steps(model: Any, optimizer: Any, loss_of: Callable[[], Any], backward: Callable[[Any], Any]) -> dict[str, Any]:
    """Train for some steps; return the losses, the last one after the last step, and whether gradients are finite."""
    losses, finite = [], True
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of()
        losses.append(float(loss.detach()))
        backward(loss)
        gradients = [one.grad for one in model.parameters() if one.grad is not None]
        finite = finite and bool(gradients) and all(math.isfinite(float(one.norm())) for one in gradients)
        optimizer.step()
    losses.append(float(loss_of().detach()))
    return {"losses": losses if all(math.isfinite(one) for one in losses) else None, "finite": finite}


def llama(torch: Any, device: str) -> tuple[Any, Callable[[Any], Any]]:
    """Return a language model of two layers, and what gives its loss on a fixed text."""
    transformers = importlib.import_module("transformers")
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    model = transformers.LlamaForCausalLM(config).to(device)
    tokens = torch.randint(0, VOCABULARY, (2, 32)).to(device)
    return model, lambda trained: trained(input_ids=tokens, labels=tokens).loss


def transformers_step(torch: Any, device: str) -> dict[str, Any]:
    """Train all weights of the model."""
    model, loss_of = llama(torch, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE / 10)
    return steps(model, optimizer, lambda: loss_of(model), lambda loss: loss.backward())


def peft_step(torch: Any, device: str) -> dict[str, Any]:
    """Train low-rank adapters of the model; the weights they adapt must stay as they are."""
    peft = importlib.import_module("peft")
    model, loss_of = llama(torch, device)
    settings = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(model, settings)
    frozen = {name: one.detach().clone() for name, one in adapted.named_parameters() if not one.requires_grad}
    trained = [one for one in adapted.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE)
    found = steps(adapted, optimizer, lambda: loss_of(adapted), lambda loss: loss.backward())
    now = dict(adapted.named_parameters())
    changed = [name for name, before in frozen.items() if not torch.equal(before, now[name].detach())]
    return {**found, "changed": len(changed), "adapters": len(trained)}


def network(torch: Any) -> Any:
    """Return a small network for the libraries that bring no models."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))


def accelerate_step(torch: Any, device: str) -> dict[str, Any]:
    """Train a small network through ``Accelerator.prepare``, with a loader it prepares too."""
    accelerate = importlib.import_module("accelerate")
    accelerator = accelerate.Accelerator(cpu=device == "cpu", mixed_precision="no")
    dataset = torch.utils.data.TensorDataset(torch.randn(8, 16), torch.randn(8, 4))
    model = network(torch)
    model, optimizer, batches = accelerator.prepare(
        model, torch.optim.AdamW(model.parameters(), lr=RATE), torch.utils.data.DataLoader(dataset, batch_size=8)
    )
    inputs, wanted = next(iter(batches))
    return steps(model, optimizer, lambda: torch.nn.functional.mse_loss(model(inputs), wanted), accelerator.backward)


def deepspeed_step(torch: Any, device: str) -> dict[str, Any]:
    """Train a small network with ZeRO stage 1 in a world of one, with torch's own optimizer: nothing is compiled."""
    if device == "cpu":
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    os.environ.update({"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"})
    distributed = torch.distributed
    backend = "gloo" if device == "cpu" else "nccl"
    distributed.init_process_group(backend, store=distributed.HashStore(), rank=0, world_size=1)
    deepspeed = importlib.import_module("deepspeed")
    getattr(deepspeed.ops, "__compatible_ops__", {}).pop("deepspeed_shm_comm", None)  # compiled for minutes where used
    model = network(torch)
    settings = {
        "train_batch_size": 8,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 1000,
    }
    engine, *_ = deepspeed.initialize(
        model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=RATE), config=settings
    )
    inputs, wanted = torch.randn(8, 16).to(engine.device), torch.randn(8, 4).to(engine.device)
    losses = []
    for _ in range(STEPS + 1):
        loss = torch.nn.functional.mse_loss(engine(inputs).float(), wanted)
        losses.append(float(loss.detach()))
        engine.backward(loss)
        engine.step()
    distributed.destroy_process_group()
    finite = all(math.isfinite(one) for one in losses)
    return {"losses": losses if finite else None, "finite": finite}


def flash_attn_step(torch: Any, device: str) -> dict[str, Any]:
    """Compare the function with float64 by value, forward and backward; without a card it is only imported."""
    flash_attn = importlib.import_module("flash_attn")
    if not device.startswith("cuda"):
        return {"unsupported": "imported; its kernels run on a card only"}
    inputs = [torch.randn(2, 64, 4, 64, device=device).half().requires_grad_() for _ in range(3)]
    got = flash_attn.flash_attn_func(*inputs)
    got.float().square().sum().backward()
    exact = [one.detach().double().requires_grad_() for one in inputs]
    query, key, value = (one.transpose(1, 2) for one in exact)
    wanted = ((query @ key.transpose(-1, -2) / 8).softmax(-1) @ value).transpose(1, 2)
    wanted.square().sum().backward()

    def error(one: Any, other: Any) -> float:
        """Return the Frobenius error relative to the other tensor."""
        return float((one.double() - other).norm() / other.norm())

    gradients = [error(inputs[index].grad, exact[index].grad) for index in range(3)]
    return {"output_error": error(got, wanted), "gradient_error": max(gradients)}


STEPPED: dict[str, Callable[[Any, str], dict[str, Any]]] = {
    "transformers": transformers_step,
    "peft": peft_step,
    "accelerate": accelerate_step,
    "deepspeed": deepspeed_step,
    "flash_attn": flash_attn_step,
}
