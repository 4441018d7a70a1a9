"""Loads samples in worker processes, forked and spawned, through /dev/shm, and compares every value."""

from __future__ import annotations

import importlib
import itertools
import resource
import time
from typing import Any

from .devices import load_torch, told
from .numbers_dataset import Numbers, wrong_samples
from .spawned import be_main

MIB_WORDS = 1024 * 1024 // 4
SAMPLES = 24
BATCH = 4
HELD = 64
"""Small tensors kept at a time: each is an open file under the default sharing strategy."""

PATIENCE = {"fork": 30, "spawn": 90}
"""Seconds for one batch: a worker that cannot hand over its tensor leaves its loader waiting for ever.

A spawned worker imports torch first.
"""


def run(asked: dict[str, Any], teller: Any) -> None:
    """Look at ``dataloader`` with ``asked["workers"]`` worker processes (2)."""
    teller.step("import torch")
    torch = load_torch()
    importlib.import_module("torch.utils.data")
    be_main()
    workers = int(asked.get("workers", 2))
    with teller.looking("dataloader") as values:
        values.update(surroundings(torch, workers))
        for method in ("fork", "spawn"):
            teller.step("DataLoader with workers by " + method)
            values[method] = loaded(torch, method, workers, pinned=values["pinned"])
        if "error" not in values["fork"]:
            teller.step("DataLoader with many tensors at a time")
            values["held"] = held(torch, workers)


def surroundings(torch: Any, workers: int) -> dict[str, Any]:
    """Return what the loading depends on."""
    return {
        "workers": workers,
        "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "pinned": bool(torch.cuda.is_available()),
        "sharing": torch.multiprocessing.get_sharing_strategy(),
    }


def loaded(torch: Any, method: str, workers: int, *, pinned: bool) -> dict[str, Any]:
    """Return how many samples came wrong and how fast, or the exception that ended the loading."""
    data = Numbers(SAMPLES, MIB_WORDS)
    started = time.perf_counter()
    wrong, samples, batches = 0, 0, None
    try:
        batches = iter(loader(torch, data, BATCH, method, workers, pinned=pinned))
        for batch in batches:
            wrong += wrong_samples(torch, data, batch, samples)
            samples += len(batch)
    except Exception as error:
        return {"error": told(error), "samples": samples}
    finally:
        ended(batches)
    return {"wrong": wrong, "samples": samples, "wanted": SAMPLES, "took": time.perf_counter() - started}


def held(torch: Any, workers: int) -> dict[str, Any]:
    """Return what comes of keeping many tensors of the workers at a time."""
    data = Numbers(HELD, 16)
    batches = None
    try:
        batches = iter(loader(torch, data, 1, "fork", workers, pinned=False))
        kept = list(itertools.islice(batches, HELD))
    except Exception as error:
        return {"error": told(error)}
    finally:
        ended(batches)
    return {"wrong": sum(wrong_samples(torch, data, batch, index) for index, batch in enumerate(kept))}


def loader(torch: Any, data: Numbers, batch: int, method: str, workers: int, *, pinned: bool) -> Any:
    """Return a DataLoader that gives samples in order."""
    return torch.utils.data.DataLoader(
        data,
        batch_size=batch,
        num_workers=workers,
        multiprocessing_context=method,
        pin_memory=pinned,
        timeout=PATIENCE[method],
    )


def ended(batches: Any) -> None:
    """End the workers now: a traceback that is kept would keep them too."""
    if batches is not None and hasattr(batches, "_shutdown_workers"):
        batches._shutdown_workers()  # noqa: SLF001 - the only way to end them but garbage collection
