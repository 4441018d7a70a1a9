"""The CUDA compiler, where something installed compiles kernels of its own."""

from __future__ import annotations

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware.versions import parse
from conda_llmenv.model import Finding, Level, Status

COMPILES = ("deepspeed", "exllamav2", "fused-dense-lib")
"""Distributions that compile CUDA kernels when they are used, not only when they are installed."""

BUILT_HERE = ("flash-attn", "mamba-ssm", "causal-conv1d", "apex", "xformers", "transformer-engine-torch", "natten")
"""Distributions that are compiled against torch where no wheel fits: the next update needs the compiler again."""


def nvcc(scene: Scene) -> Finding:
    """Judge the compiler that ``torch.utils.cpp_extension`` would take: it refuses one of another CUDA major."""
    torch = parse(scene.values("torch-import").get("cuda"))
    if torch is None:
        return Finding(Status.SKIP, "torch is not built for CUDA")
    names = set(scene.values("installed").get("names", ()))
    users = [name for name in (*COMPILES, *BUILT_HERE) if name in names]
    if not users:
        return Finding(Status.SKIP, "nothing installed compiles CUDA kernels")
    seen = scene.values("nvcc")
    there, expected = parse(seen["version"]), f"nvcc of CUDA {torch.major}, best {torch}"
    fix = f'ask for the spec "cuda-nvcc={torch}" from conda-forge'
    if not seen["nvcc"]:
        if users[0] in BUILT_HERE:
            return Finding(Status.SKIP, f"{users[0]} is compiled already, and there is no nvcc to compile it anew")
        text = f"{users[0]} compiles its kernels at first use, and there is no nvcc"
        return Finding(Status.WARN, text, "no nvcc on PATH or in CUDA_HOME", expected, fix)
    if there is None or there.major == torch.major:
        return Finding(Status.PASS, f"{seen['nvcc']} (CUDA {seen['version'] or '?'}) fits torch's CUDA {torch}")
    text = f"{seen['nvcc']} is of CUDA {there}, and torch is built for CUDA {torch}: {users[0]} cannot be compiled"
    return Finding(Status.WARN, text, f"CUDA {there}", expected, fix)


CHECKS = (
    Check(
        "nvcc",
        "the CUDA compiler fits torch",
        "runtime",
        Level.FULL,
        nvcc,
        probe="runtime",
        needs=("duplicates", "torch-import"),
        torch=True,
    ),
)
