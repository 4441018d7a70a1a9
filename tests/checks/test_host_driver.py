"""What drivers, libcuda and the fabric come to."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from conda_llmenv.checks import host
from conda_llmenv.model import HostFacts, Status
from tests.checks.host_scenes import DEV_BOX, NODE, fix_of, judged


def driver(module: str | None, devices: int = 1, **more: Any) -> dict[str, Any]:
    names = [f"nvidia{number}" for number in range(devices)]
    return {"module": module, "devices": names, "pci_cards": devices, "wsl": False, **more}


@pytest.mark.parametrize(
    ("version", "status", "words", "later"),
    [
        ("390.157", Status.WARN, "PyTorch has no build for that", None),
        ("440.33", Status.WARN, "runs CUDA 10 and older", None),
        ("470.82.01", Status.WARN, "runs CUDA 11 and older; the newest PyTorch built for that is 2.7", None),
        ("525.60.13", Status.PASS, "CUDA up to 12.0", "builds for CUDA 13 need driver 580 or newer"),
        ("570.26", Status.PASS, "CUDA up to 12.8", "builds for CUDA 13 need driver 580 or newer"),
        ("580.65.06", Status.PASS, "CUDA up to 13.0", None),
        ("595.45.04", Status.PASS, "CUDA up to 13.2", None),
        ("610.10", Status.PASS, "driver 610.10", None),
    ],
)
def test_drivers(version: str, status: Status, words: str, later: str | None) -> None:
    """A driver is judged by the CUDA it runs; what it does not run is said before a build for it fails."""
    found = judged("driver-version", driver(version), replace(NODE, driver=version, cuda_max=None))
    assert found.status is status
    assert words in found.summary
    assert found.detail == ((later,) if later else ())
    assert ("install driver 525.60.13 or newer" in found.fix) is (status is Status.WARN)


def test_no_driver() -> None:
    """A machine without a card is no fault, whatever the environment is for: what is about cards is skipped."""
    assert judged("driver-version", driver(None, 0), DEV_BOX).status is Status.SKIP
    assert judged("driver-version", driver(None, 0), DEV_BOX, cuda_tier=True, tier="a100").status is Status.SKIP
    assert judged("driver-library", {**driver(None, 0), "library": None}, DEV_BOX).status is Status.SKIP


@pytest.mark.parametrize(("cuda_tier", "status"), [(True, Status.FAIL), (False, Status.SKIP)])
def test_card_without_a_driver(cuda_tier: bool, status: Status) -> None:  # noqa: FBT001 - a column of the table
    """A card on the bus that nothing drives is a fault where the environment is for it."""
    found = judged("driver-version", {**driver(None, 0), "pci_cards": 2}, DEV_BOX, cuda_tier=cuda_tier)
    assert (found.status, found.summary) == (
        status,
        "2 NVIDIA cards are on the PCI bus, but no driver is loaded",
    )


def library(init: int | None, version: str | None = "550.54.15", **more: Any) -> dict[str, Any]:
    path = f"/usr/lib/x86_64-linux-gnu/libcuda.so.{version}"
    return {**driver("550.54.15"), "library": {"path": path, "version": version, "api": 12040, "init": init, **more}}


@pytest.mark.parametrize(
    ("values", "status", "words", "fix"),
    [
        (library(0), Status.PASS, "CUDA starts, CUDA up to 12.4", ""),
        (library(803, "535.104.05"), Status.FAIL, "(803)", "sudo reboot"),
        (library(None, "535.104.05"), Status.FAIL, "libcuda and the kernel module differ", "sudo reboot"),
        (library(804, "560.35.05"), Status.FAIL, "(804)", "unset LD_LIBRARY_PATH"),
        (library(802), Status.FAIL, "(802)", "nvidia-fabricmanager"),
        (library(34, None), Status.FAIL, "stub", "unset LD_LIBRARY_PATH"),
        (library(100), Status.FAIL, "no device", "nvidia-smi -L"),
        (library(999), Status.FAIL, "cuInit returns 999", "dmesg"),
        (library(0, "560.35.05", path="/env/cuda-compat/libcuda.so.1"), Status.PASS, "compatibility library", ""),
        (library(0, "535.104.05"), Status.WARN, "is not of the loaded module", "sudo reboot"),
        (library(None, problem="gave no answer within 20 s"), Status.FAIL, "gave no answer", "xid"),
        (library(None, problem="ended with status -11"), Status.FAIL, "status -11", "xid"),
        (library(None), Status.ERROR, "nothing was recorded", ""),
        (
            {**driver("550.54.15"), "library": {"missing": "libcuda.so.1: cannot open"}},
            Status.FAIL,
            "cannot be loaded",
            "DRIVER_CAPABILITIES",
        ),
        ({**driver("550.54.15"), "library": None}, Status.SKIP, "not asked", ""),
    ],
)
def test_libcuda(values: dict[str, Any], status: Status, words: str, fix: str) -> None:
    """What starting CUDA says decides; a compatibility library of another version is no fault while it works."""
    found = judged("driver-library", values)
    assert found.status is status
    assert words in found.summary
    assert fix in fix_of("driver-library", found)


def test_container_that_got_no_card() -> None:
    """It sees the kernel module of its host: no fault of the machine, and the step that hands cards in."""
    facts = replace(DEV_BOX, driver="550.54.15")
    values = {**driver("550.54.15", 0), "library": {"missing": "libcuda.so.1: cannot open shared object file"}}
    found = judged("driver-library", values, facts)
    assert (found.status, found.fix) == (Status.SKIP, "docker run --gpus all …")
    assert judged("gpu-count", driver("550.54.15", 0), facts).status is Status.SKIP


def fabric(
    *states: str, switches: int = 0, init: int | None = 0, status: str = "Success", **more: Any
) -> dict[str, Any]:
    return {"states": list(states), "statuses": [status] * len(states), "switches": switches, "init": init, **more}


@pytest.mark.parametrize(
    ("values", "status"),
    [
        (fabric("[N/A]", "[N/A]"), Status.SKIP),  # cards on PCIe need none
        (fabric("Completed", "Completed", switches=4), Status.PASS),
        (fabric("Completed", "In Progress", switches=4), Status.WARN),  # CUDA starts all the same
        (fabric("In Progress", switches=4, init=None), Status.FAIL),
        (fabric("Completed", switches=4, init=None, status="Not Supported"), Status.PASS),
        (fabric("Completed", switches=4, init=None, status="Insufficient Resources"), Status.FAIL),
        (fabric("N/A", switches=6, running=True), Status.PASS),  # A100 says nothing of its fabric
        (fabric("N/A", switches=6, init=0), Status.PASS),
        (fabric("N/A", switches=6, init=None), Status.WARN),
        (fabric("N/A", switches=6, init=802), Status.FAIL),
        (fabric(init=802), Status.FAIL),
        (fabric("[Not Supported]"), Status.SKIP),
    ],
)
def test_fabric(values: dict[str, Any], status: Status) -> None:
    """What the cards and CUDA say counts; that the service is not seen from here proves nothing."""
    assert judged("fabric-manager", values).status is status


def test_ids_and_levels() -> None:
    """The ids are what people write behind ``--only``; what is cheap and decides belongs to the quick level."""
    quick = "driver-version driver-library gpu-count gpu-health tier-card shm nofile stack disk nccl-settings"
    full = "fabric-manager gpu-throttle xid memlock swap network-interface"
    assert {check.id for check in host.CHECKS if check.level.word == "quick"} == set(quick.split())
    assert {check.id for check in host.CHECKS if check.level.word == "full"} == set(full.split())
    assert {check.group for check in host.CHECKS} == {"host"}


EMPTY: HostFacts = HostFacts("osx-arm64")


@pytest.mark.parametrize("check", [check.id for check in host.CHECKS])
def test_a_machine_that_tells_nothing(check: str) -> None:
    """What could not be read is neither a pass nor a fault; nothing left over being set is the one thing that shows."""
    assert judged(check, {}, EMPTY).status is (Status.PASS if check == "nccl-settings" else Status.SKIP)
