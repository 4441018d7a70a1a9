"""The versions that decide whether training works, as they were seen."""

from __future__ import annotations

from conda_llmenv.checks.scene import Scene

MODEL_LIBRARIES = ("transformers", "trl", "torchtune", "litgpt", "megatron-core", "vllm")
"""Libraries that define or train models, by the names of their distributions."""

ACCELERATORS = ("accelerate", "deepspeed", "flash-attn", "peft", "bitsandbytes", "xformers", "liger-kernel")
"""Libraries that decide how a model is spread over cards, how it is held in memory and which kernels it uses."""


def versions_of(scene: Scene) -> dict[str, str]:
    """Return name to version: python, torch with its CUDA, cuDNN and NCCL, and the libraries around it."""
    torch, installed = scene.values("torch-import"), scene.values("installed").get("versions", {})
    found = {
        "python": scene.values("python").get("version"),
        "torch": torch.get("version") or scene.values("installed").get("torch"),
        "cuda": torch.get("cuda"),
        "cudnn": torch.get("cudnn"),
        "nccl": torch.get("nccl"),
        "numpy": torch.get("numpy"),
        **{name: installed.get(name) for name in (*MODEL_LIBRARIES, *ACCELERATORS, "datasets")},
    }
    return {name: str(version) for name, version in found.items() if version}
