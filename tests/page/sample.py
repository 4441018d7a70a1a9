"""A run of the ladder with everything in it, as a page has to show it."""

from __future__ import annotations

from conda_llmenv.model import CheckResult, Finding, Gpu, HostFacts, Level, Report, Status

HOST = HostFacts(
    subdir="linux-64",
    glibc="2.35",
    kernel="5.15.0-122-generic",
    cpu_level="x86_64_v4",
    cpus=96,
    memory_mib=1032123,
    driver="550.54.15",
    cuda_max="12.4",
    gpus=(Gpu("NVIDIA A100-SXM4-80GB", 81920, (8, 0)),) * 4,
    gpu_source="nvml",
    shm_bytes=64 * 2**20,
    nofile=65536,
    memlock=-1,
    stack=8 * 2**20,
    problems=("The kernel log could not be read (Operation not permitted), so Xid errors are unknown",),
)

VERSIONS = {
    "python": "3.11.9",
    "torch": "2.6.0",
    "cuda": "12.4",
    "cudnn": "9.1.0",
    "nccl": "2.21.5",
    "transformers": "4.51.3",
}

EARLIER = {
    "all_reduce_busbw_gbs": (231.4, 229.8, 232.0, 226.1, 233.9),
    "matmul_bf16_tflops": (251.0, 249.2, 252.8),
    "checkpoint_write_mbs": (1210.0, 830.0, 1190.0, 1460.0),
    "seconds:torch-compile": (21.0, 22.4, 20.7),
    "seconds:ddp-gradients": (5.8, 6.1, 5.9),
    "seconds:torch-import": (2.1,),
}


def passed(
    check: str, group: str, title: str, summary: str, *, seconds: float = 0.02, **finding: object
) -> CheckResult:
    """Return a passing result."""
    return result(check, group, title, Status.PASS, summary, seconds=seconds, **finding)


def result(
    check: str, group: str, title: str, status: Status, summary: str, *, seconds: float = 0.02, **finding: object
) -> CheckResult:
    """Return a result of the full level."""
    return CheckResult(check, group, title, Level.FULL, Finding(status, summary, **finding), seconds)  # type: ignore[arg-type]  # the fields of Finding


GROUPS = (
    (
        passed(
            "driver",
            "host",
            "NVIDIA driver",
            "driver 550.54.15 runs CUDA up to 12.4",
            measured="550.54.15",
            expected=">=525.60.13",
        ),
        passed(
            "gpus", "host", "GPUs", "4 GPUs of the tier a100", measured="4 × NVIDIA A100-SXM4-80GB", expected="4 × A100"
        ),
        passed("ecc", "host", "ECC", "no uncorrectable error", measured="0", expected="0"),
        result(
            "shm",
            "host",
            "Shared memory",
            Status.FAIL,
            "/dev/shm has 64 MB; 4 workers × 3 batches of 96 MB need 1.2 GB",
            measured="64 MiB",
            expected=">=1.2 GiB",
            fix="docker run … --shm-size=16g\nmount -o remount,size=16g /dev/shm",
            detail=("tmpfs on /dev/shm type tmpfs (rw,nosuid,nodev,noexec,relatime,size=65536k,inode64)",),
        ),
        passed("nofile", "host", "Open files", "65,536 files may be open", measured="65,536", expected=">=65,536"),
        passed(
            "memlock", "host", "Locked memory", "locked memory is unlimited", measured="unlimited", expected="unlimited"
        ),
        passed(
            "disk", "host", "Disk", "412 GiB and 30,112,004 inodes are free", measured="412 GiB", expected=">=20 GiB"
        ),
        result("xid", "host", "Xid errors", Status.SKIP, "the kernel log cannot be read by this account"),
    ),
    (
        passed(
            "torch-import",
            "runtime",
            "torch",
            "torch 2.6.0 for CUDA 12.4 is a GPU build",
            seconds=2.2,
            measured="2.6.0+cu124",
        ),
        passed(
            "arch",
            "runtime",
            "Kernels for the card",
            "sm_80 is in the build",
            measured="sm_80",
            expected="sm_80 or PTX",
            detail=("sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90", "PTX compute_90"),
        ),
        passed("nccl-once", "runtime", "One NCCL", "nvidia-nccl-cu12 2.21.5 alone owns libnccl.so.2"),
        passed("user-site", "runtime", "User site", "no module came from ~/.local"),
        result(
            "library-path",
            "runtime",
            "LD_LIBRARY_PATH",
            Status.WARN,
            "libnvJitLink.so.12 came from /usr/local/cuda-12.1/lib64",
            measured="/usr/local/cuda-12.1/lib64/libnvJitLink.so.12",
            expected="/opt/conda/envs/sft/lib/libnvJitLink.so.12",
            fix="unset LD_LIBRARY_PATH",
            detail=("LD_LIBRARY_PATH=/usr/local/cuda-12.1/lib64:/usr/lib",),
        ),
        passed("openmp", "runtime", "OpenMP", "one libgomp is loaded"),
        passed("pip-check", "runtime", "Dependencies", "147 distributions fit together", seconds=0.6),
    ),
    tuple(
        passed(f"import-{name}", "imports", name, f"{name} can be imported", seconds=took)
        for name, took in (("transformers", 3.1), ("datasets", 1.4), ("accelerate", 2.6), ("peft", 2.9))
    ),
    (
        passed(
            "matmul-fp32",
            "compute",
            "float32 matmul",
            "agrees with float64",
            seconds=0.8,
            measured="3.1e-7",
            expected="<=5e-6",
            figures={"matmul_fp32_tflops": 18.9},
        ),
        passed(
            "matmul-bf16",
            "compute",
            "bfloat16 matmul",
            "agrees with float64",
            seconds=0.7,
            measured="1.6e-3",
            expected="<=1e-2",
            figures={"matmul_bf16_tflops": 248.2},
        ),
        passed("repeat", "compute", "Repeatability", "20 products are the same bit for bit", seconds=0.4),
        passed(
            "torch-compile",
            "compute",
            "torch.compile",
            "a compiled function gives the values of the plain one",
            seconds=19.8,
        ),
        result(
            "memory",
            "compute",
            "GPU memory",
            Status.ERROR,
            "the probe was ended after 60 s at «pattern written»",
            seconds=60.0,
            fix="nvidia-smi --query-compute-apps=pid,used_memory --format=csv",
            detail=(
                "rank 0: pattern written",
                "Traceback (most recent call last):",
                '  File "memory.py", line 41, in run',
            ),
        ),
    ),
    (
        passed(
            "all-reduce",
            "ranks",
            "all_reduce by value",
            "4 ranks, nccl: every sum is right",
            seconds=4.1,
            figures={"all_reduce_busbw_gbs": 228.0},
        ),
        passed(
            "ddp-gradients",
            "ranks",
            "DDP gradients",
            "as those of one process",
            seconds=6.0,
            measured="1.6e-7",
            expected="<=1e-5",
        ),
        passed(
            "fsdp",
            "ranks",
            "FSDP2",
            "gradients as those of one process",
            seconds=6.4,
            measured="1.4e-7",
            expected="<=1e-5",
        ),
    ),
    (
        result(
            "workers",
            "data",
            "DataLoader workers",
            Status.FAIL,
            'will die with "Bus error" on this machine',
            seconds=1.9,
            measured="4 workers: killed by signal 7",
            expected="4 workers × 16 batches",
            fix="docker run … --shm-size=16g",
        ),
        passed(
            "checkpoint",
            "data",
            "Checkpoint",
            "256 MiB written, synchronised, read and renamed",
            seconds=2.4,
            measured="512 MB/s",
            figures={"checkpoint_write_mbs": 512.0},
        ),
    ),
    (
        passed("trainer", "models", "transformers", "a tiny model did one training step", seconds=5.2),
        result("deepspeed", "models", "DeepSpeed", Status.SKIP, "deepspeed is not in this environment"),
    ),
)

REPORT = Report(
    prefix="/opt/conda/envs/sft",
    level=Level.FULL,
    started="2026-11-30T19:14:55+00:00",
    seconds=101.4,
    results=tuple(entry for group in GROUPS for entry in group),
    host=HOST,
    hostname="gpu07",
    fingerprint="7f3a90d2c4b1e85566aa0913bb27d1f0c2",
    tier="a100",
    recipe="sft",
    versions=VERSIONS,
    llmenv="0.5.0",
    ranks=(2, 4),
)
"""Of 31 checks, two failed, one could not be run, one warned and two were skipped."""
