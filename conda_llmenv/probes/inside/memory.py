"""The memory of cards: most of what is free is written with a pattern of places and read again."""

from __future__ import annotations

import time
from typing import Any

from .devices import on_each, told, wait_for

SHARE = 0.9
CHUNK = 256 * 1024 * 1024
OTHERS = 2 * 1024**3
"""Bytes in use that cannot be ours: a fresh CUDA context takes up to about 1 GiB."""


def look(torch: Any, names: list[str]) -> dict[str, Any]:
    """Return what was written and read of each card; a processor's memory is not tried."""
    cards = [name for name in names if name.startswith("cuda")]
    return {"devices": on_each(torch, cards, lambda device, _about: on_card(torch, device))}


def on_card(torch: Any, device: str) -> dict[str, Any]:
    """Fill one card, unless others use it."""
    torch.cuda.empty_cache()
    with torch.cuda.device(device):
        free, total = torch.cuda.mem_get_info()
    found: dict[str, Any] = {"free": free, "total": total}
    others = total - free - torch.cuda.memory_reserved(device)
    if others > OTHERS:
        return {**found, "others": others}
    started = time.perf_counter()
    chunks, stopped = allocated(torch, device, int(free * SHARE) // CHUNK)
    try:
        wrong = sum(wrong_words(torch, device, chunks, flip=flip) for flip in (0, -1))
        wait_for(torch, device)
    finally:
        chunks.clear()
        torch.cuda.empty_cache()
    took = time.perf_counter() - started
    return {**found, "asked": int(free * SHARE) // CHUNK * CHUNK, **stopped, "wrong_words": wrong, "took": took}


def allocated(torch: Any, device: str, wanted: int) -> tuple[list[Any], dict[str, Any]]:
    """Return as many chunks as there are, at most ``wanted`` less two for comparing, and why there are no more."""
    chunks: list[Any] = []
    try:
        while len(chunks) < max(1, wanted - 2):
            chunks.append(torch.empty(CHUNK // 4, dtype=torch.int32, device=device))
    except RuntimeError as error:  # OutOfMemoryError is one
        del chunks[-2:]
        return chunks, {"allocated": len(chunks) * CHUNK, "stopped": told(error)}
    return chunks, {"allocated": len(chunks) * CHUNK}


def wrong_words(torch: Any, device: str, chunks: list[Any], *, flip: int) -> int:
    """Write each word's place and chunk, all bits flipped by ``flip``; return how many read back otherwise."""
    places = torch.arange(CHUNK // 4, dtype=torch.int32, device=device)
    for index, chunk in enumerate(chunks):
        torch.bitwise_xor(places, pattern(index, flip), out=chunk)
    wrong = 0
    for index, chunk in enumerate(chunks):
        chunk.bitwise_xor_(places).bitwise_xor_(pattern(index, flip))
        wrong += int(torch.count_nonzero(chunk))
    return wrong


def pattern(index: int, flip: int) -> int:
    """Return the word that tells one chunk from another, within 31 bits."""
    return ((index * 0x9E3779B1) & 0x7FFFFFFF) ^ flip
