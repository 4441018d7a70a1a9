"""Bandwidth is told for comparison and warned of only where a floor is known for exactly this kind of node."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from conda_llmenv.checks.ranks_bandwidth import bandwidth
from conda_llmenv.model import Finding, Status
from tests.checks import ranks_scenes
from tests.checks.ranks_scenes import launch, scene

H100 = "NVIDIA H100 80GB HBM3"


def judged(size: int, **more: Any) -> Finding:
    return bandwidth(scene("bandwidth", launch(partial(ranks_scenes.bandwidth, **more), size)))


def test_figures_are_those_of_the_slowest_rank_of_the_largest_world() -> None:
    """Without cards their names say gloo, so that nobody compares them with NCCL's."""

    def slower(told: dict[str, Any]) -> None:
        told["ops"]["all_reduce"].update(busbw_gbs=0.5, seconds=0.04)

    small, large = launch(ranks_scenes.bandwidth, 2), launch(ranks_scenes.bandwidth, 4, {3: slower})
    finding = bandwidth(scene("bandwidth", small, large))
    assert finding.status is Status.PASS
    assert finding.figures["gloo_all_reduce_busbw_gbs"] == 0.5
    assert finding.figures["gloo_all_gather_busbw_gbs"] == 1.0
    assert "4 ranks, all_reduce of 1024 MiB: 40 ms, bus 0.5 GB/s" in finding.detail
    assert "2 ranks, all_reduce of 1024 MiB: 20 ms, bus 1 GB/s" in finding.detail


@pytest.mark.parametrize(
    ("device", "size", "busbw", "status"),
    [
        (H100, 8, 300.0, Status.WARN),
        (H100, 8, 440.0, Status.PASS),
        (H100, 4, 300.0, Status.PASS),
        ("NVIDIA A100-SXM4-80GB", 8, 100.0, Status.WARN),
        ("NVIDIA A100-SXM4-80GB", 8, 225.0, Status.PASS),
        ("NVIDIA A100 80GB PCIe", 8, 20.0, Status.PASS),
        ("NVIDIA H100 NVL", 8, 100.0, Status.PASS),
        ("NVIDIA H200", 8, 200.0, Status.WARN),
        ("NVIDIA L40S", 8, 20.0, Status.PASS),
    ],
)
def test_floor_holds_for_eight_switched_cards_only(device: str, size: int, busbw: float, status: Status) -> None:
    """A floor of another kind of node would be a false alarm; and a warning is all it ever is."""
    finding = judged(size, device=device, backend="nccl", busbw=busbw)
    assert finding.status is status
    assert finding.figures["all_reduce_busbw_gbs"] == busbw
    if status is Status.WARN:
        assert "nvidia-smi topo -m" in finding.fix
        assert "far below the usual floor" in finding.summary


def test_short_messages_are_not_held_against_the_floor() -> None:
    """Where memory was short, the message was, too, and short ones are slower."""

    def short(told: dict[str, Any]) -> None:
        told["ops"]["all_reduce"]["bytes"] = 1 << 24

    make = partial(ranks_scenes.bandwidth, device=H100, backend="nccl", busbw=50.0)
    assert bandwidth(scene("bandwidth", launch(make, 8, {0: short}))).status is Status.PASS


def test_one_rank_has_no_bandwidth() -> None:
    """A single card is no fault, and no pass either."""
    finding = bandwidth(scene("bandwidth", [ranks_scenes.of(0, 1, absent="one rank has no one to send to")]))
    assert finding.status is Status.SKIP
