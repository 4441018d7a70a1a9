"""Samples that tell their own index at every place, so that a mixed-up or cut batch is seen by value."""

from __future__ import annotations

import importlib
from typing import Any


class Numbers:
    """A map-style data set of int32 tensors: sample ``i`` is ``i, i + 1, i + 2, …``."""

    def __init__(self, samples: int, words: int) -> None:
        self.samples = samples
        self.words = words

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Any:
        torch = importlib.import_module("torch")
        return torch.arange(index, index + self.words, dtype=torch.int32)


def wrong_samples(torch: Any, data: Numbers, batch: Any, first: int) -> int:
    """Return how many samples of a batch are not those from index ``first`` on."""
    return sum(not torch.equal(sample, data[first + place]) for place, sample in enumerate(batch))
