"""NVML's answers as facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pynvml  # type: ignore[import-untyped]  # the package ships no types
import pytest

from conda_llmenv.host.nvidia_smi import UNNAMED
from conda_llmenv.host.nvml import cuda_text, read_nvml, reading_of
from conda_llmenv.model import Gpu

Answer = TypeVar("Answer")


@dataclass
class Memory:
    """What NVML says of a card's memory, bytes."""

    total: int


@dataclass
class Card:
    """A card of the stand-in; None is what it does not answer."""

    name: str | None = "NVIDIA A100-SXM4-80GB"
    gib: int | None = 80
    capability: tuple[int, int] | None = (8, 0)
    slices: list[int] = field(default_factory=list)
    lost: bool = False


class StandInError(Exception):
    """The stand-in's error."""


class StandIn:
    """Answers the part of NVML that is used, under NVML's own names."""

    NVMLError = StandInError
    NVML_DEVICE_MIG_ENABLE = 1

    def __init__(self, *cards: Card) -> None:
        self.cards = cards
        self.nvmlDeviceGetCount = lambda: len(cards)
        self.nvmlSystemGetDriverVersion = lambda: b"550.54.15"
        self.nvmlSystemGetCudaDriverVersion_v2 = lambda: 12040
        self.nvmlDeviceGetHandleByIndex = lambda index: known(None if cards[index].lost else cards[index])
        self.nvmlDeviceGetName = lambda card: known(card.name)
        self.nvmlDeviceGetCudaComputeCapability = lambda card: known(card.capability)
        self.nvmlDeviceGetMemoryInfo = lambda card: Memory(known(card.gib) * 2**30)
        self.nvmlDeviceGetMigMode = lambda card: (1, 1) if card.slices else known(None)
        self.nvmlDeviceGetMaxMigDeviceCount = lambda _card: 7
        self.nvmlDeviceGetMigDeviceHandleByIndex = _slice


def _slice(card: Card, index: int) -> Card:
    return Card(gib=known(card.slices[index] if index < len(card.slices) else None))


def known(value: Answer | None) -> Answer:
    """Return a value, or raise as NVML does where there is none."""
    if value is None:
        raise StandInError
    return value


def test_cards_driver_and_cuda() -> None:
    """Everything a plan needs of a healthy machine."""
    reading = reading_of(StandIn(Card(), Card()))
    assert reading.gpus == (Gpu("NVIDIA A100-SXM4-80GB", 81920, (8, 0)),) * 2
    assert (reading.driver, reading.cuda, reading.problems) == ("550.54.15", "12.4", ())


def test_a_card_that_fell_off_the_bus_does_not_vanish() -> None:
    """The others are read, the lost one stays as an unknown card, and the problem is said."""
    reading = reading_of(StandIn(Card(), Card(lost=True)))
    assert [gpu.name for gpu in reading.gpus] == ["NVIDIA A100-SXM4-80GB", UNNAMED]
    assert "card 1 does not answer" in reading.problems[0]


def test_a_card_keeps_what_it_does_tell() -> None:
    """A field that is not supported is unknown, nothing more."""
    assert reading_of(StandIn(Card(gib=None, capability=None))).gpus == (Gpu("NVIDIA A100-SXM4-80GB"),)


def test_slices_of_a_card_in_mig_mode() -> None:
    """The slices' memory counts, the card's capability stays."""
    found = reading_of(StandIn(Card(slices=[10, 20]))).gpus
    assert [(gpu.memory_mib, gpu.compute_capability) for gpu in found] == [(10240, (8, 0)), (20480, (8, 0))]


@pytest.mark.parametrize(("encoded", "text"), [(12040, "12.4"), (11080, "11.8"), (13000, "13.0"), (12090, "12.9")])
def test_cuda_of_the_driver_api(encoded: int, text: str) -> None:
    """The driver API counts 1000 per major and 10 per minor."""
    assert cuda_text(encoded) == text


def test_the_real_library_has_every_name_that_is_used() -> None:
    """The stand-in must not know more than nvidia-ml-py does."""
    names = [*vars(StandIn()), "NVMLError", "NVML_DEVICE_MIG_ENABLE", "NVMLError_LibRmVersionMismatch", "nvmlShutdown"]
    names.remove("cards")
    assert [name for name in names if not hasattr(pynvml, name)] == []


def test_without_a_driver_nvml_says_so() -> None:
    """A machine without the driver's library gives a sentence."""
    if Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has a driver")
    reading = read_nvml()
    assert reading.gpus == ()
    assert reading.problems[0].startswith("NVML does not answer")
