"""Puts the facts of one machine together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from conda_llmenv import process
from conda_llmenv.hardware.tables import Tables, load_tables
from conda_llmenv.hardware.versions import parse
from conda_llmenv.host.driver import read_driver
from conda_llmenv.host.nvidia_smi import Reading
from conda_llmenv.host.system import read_system
from conda_llmenv.model import Gpu, HostFacts
from conda_llmenv.ports import CommandRunner


def read_host(
    root: Path = Path("/"),
    environ: Mapping[str, str] = os.environ,
    run: CommandRunner = process.run,
    tables: Callable[[], Tables] = load_tables,
) -> HostFacts:
    """Return the facts of the machine below ``root``; what cannot be read is None, with a sentence in ``problems``.

    The order for the driver is: kernel module (sysfs, procfs), NVML, ``nvidia-smi``. What the driver does not tell (its
    newest CUDA, a card's compute capability) is looked up in ``tables`` by its version and the card's name; they are
    loaded only where there is a driver or a card.
    """
    system = read_system(root)
    reading, source = read_driver(root, environ, run)
    reading = _completed(reading, tables()) if reading.driver or reading.gpus else reading
    return HostFacts(
        subdir=system.subdir,
        glibc=system.glibc,
        kernel=system.kernel,
        cpu_level=system.cpu_level,
        cpus=system.cpus,
        memory_mib=system.memory_mib,
        driver=reading.driver,
        cuda_max=reading.cuda,
        gpus=reading.gpus,
        gpu_source=source,
        shm_bytes=system.shm_bytes,
        nofile=system.nofile,
        memlock=system.memlock,
        stack=system.stack,
        problems=(*system.problems, *reading.problems),
    )


def _completed(reading: Reading, tables: Tables) -> Reading:
    gpus = tuple(_with_capability(gpu, tables) for gpu in reading.gpus)
    unknown = sorted({gpu.name for gpu in gpus if gpu.compute_capability is None})
    problems = [f"the compute capability of {name} is neither told by the driver nor in the tables" for name in unknown]
    driver = parse(reading.driver)
    known = tables.cuda_of_driver(driver) if driver and reading.cuda is None else None
    cuda = reading.cuda or (str(known) if known else None)
    if driver and cuda is None:
        problems.append(f"the newest CUDA of driver {driver} is neither told by it nor in the tables")
    return replace(reading, gpus=gpus, cuda=cuda, problems=(*reading.problems, *problems))


def _with_capability(gpu: Gpu, tables: Tables) -> Gpu:
    if gpu.compute_capability is not None:
        return gpu
    return replace(gpu, compute_capability=tables.capability_of(gpu.name))
