"""What this machine is: driver, cards, C library and limits, as read or as assumed."""

from __future__ import annotations

from msgspec import Struct


class Gpu(Struct, frozen=True):
    """One card (or MIG slice).

    Attributes:
        name: product name as the driver gives it.
        memory_mib: total memory in MiB, or None if unknown.
        compute_capability: (major, minor), or None if unknown.
    """

    name: str
    memory_mib: int | None = None
    compute_capability: tuple[int, int] | None = None


class HostFacts(Struct, frozen=True):
    """Facts of one machine; None means "could not be read", never "no".

    Attributes:
        subdir: conda platform such as ``linux-64``.
        glibc, kernel: version strings.
        cpu_level: archspec name such as ``x86_64_v3``.
        driver: NVIDIA driver version, None without a driver.
        cuda_max: newest CUDA the driver runs, such as ``12.4``.
        gpus: the cards, in driver order.
        gpu_source: ``nvml``, ``nvidia-smi`` or ``none``.
        shm_bytes: size of /dev/shm; nofile, memlock, stack: soft limits (-1 for unlimited, bytes for the last two).
        problems: sentences about what could not be read and why.
        elsewhere: nobody has looked at that machine, it is only a platform to plan for.
    """

    subdir: str
    glibc: str | None = None
    kernel: str | None = None
    cpu_level: str | None = None
    cpus: int | None = None
    memory_mib: int | None = None
    driver: str | None = None
    cuda_max: str | None = None
    gpus: tuple[Gpu, ...] = ()
    gpu_source: str = "none"
    shm_bytes: int | None = None
    nofile: int | None = None
    memlock: int | None = None
    stack: int | None = None
    problems: tuple[str, ...] = ()
    elsewhere: bool = False


class VirtualPackage(Struct, frozen=True):
    """A virtual package handed to a solver, with the reason it has this version."""

    name: str
    version: str
    build: str = "0"
    reason: str = ""


class TierChoice(Struct, frozen=True):
    """The chosen tier and the sentence that says why; ``assumed`` is True where no card of it was seen here."""

    name: str
    reason: str
    assumed: bool = False
    gpu_count: int = 0
