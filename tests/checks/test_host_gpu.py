"""How many cards are seen, how healthy they are, and what the kernel log says."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from conda_llmenv.checks.host_gpu import visible_devices
from conda_llmenv.model import Gpu, HostFacts, Status
from tests.checks.host_scenes import DEV_BOX, NODE, fix_of, judged

DRIVER = {"module": "550.54.15", "devices": ["nvidia0", "nvidia1", "nvidia2", "nvidia3"]}


def count(shown: str | None = None, modes: dict[str, list[str]] | None = None) -> dict[str, Any]:
    variables = {} if shown is None else {"CUDA_VISIBLE_DEVICES": shown}
    return {**DRIVER, "variables": variables, "modes": modes or {}, "listed": 4}


@pytest.mark.parametrize(
    ("shown", "visible"),
    [
        ("0,1,2,3", 4),
        ("2", 1),
        ("", 0),
        ("-1", 0),
        ("0,7,1", 1),  # CUDA stops at the first that is no card
        ("0,0", 0),
        ("GPU-5a1b,GPU-6c2d", 2),
        ("MIG-9f", 1),
        ("none", 0),
    ],
)
def test_cuda_visible_devices(shown: str, visible: int) -> None:
    """It is read as CUDA reads it."""
    assert visible_devices(shown, 4) == visible


@pytest.mark.parametrize(
    ("shown", "settings", "scene", "status", "words"),
    [
        (None, {}, {}, Status.PASS, "4 cards"),
        (None, {"gpus": 8}, {}, Status.FAIL, "4 cards, 8 expected"),
        (None, {"gpus": "4"}, {}, Status.PASS, "4 cards"),
        ("0,1", {"gpus": 4}, {}, Status.FAIL, "CUDA_VISIBLE_DEVICES=0,1 hides the others"),
        ("0,1", {}, {}, Status.PASS, "2 of 4 cards visible"),
        ("", {}, {}, Status.WARN, "hides every card"),
        ("", {}, {"tier": "a100", "cuda_tier": True}, Status.FAIL, "0 of 4 cards visible, 1 expected"),
        ("", {}, {"tier": "cpu"}, Status.PASS, "0 of 4 cards visible"),
    ],
)
def test_card_count(
    shown: str | None, settings: dict[str, Any], scene: dict[str, Any], status: Status, words: str
) -> None:
    """Cards that a program sees, against those that the layers expect."""
    found = judged("gpu-count", count(shown), settings=settings, **scene)
    assert found.status is status
    assert words in found.summary


def test_hidden_cards_are_shown_again() -> None:
    """The fix is the one command that helps."""
    assert judged("gpu-count", count("0"), settings={"gpus": 4}).fix == "unset CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("modes", "status", "words"),
    [
        ({"compute_mode": ["Default", "Prohibited"]}, Status.FAIL, "Prohibited"),
        ({"compute_mode": ["Exclusive_Process"] * 4}, Status.PASS, "4 cards"),
        ({"mig.mode.current": ["Enabled"] * 4}, Status.FAIL, "no slice"),
        ({"mig.mode.current": ["[N/A]"] * 4}, Status.PASS, "4 cards"),
    ],
)
def test_modes(modes: dict[str, list[str]], status: Status, words: str) -> None:
    """Modes in which no program can use a card."""
    found = judged("gpu-count", count(modes=modes))
    assert found.status is status
    assert words in found.summary


def test_slices_are_counted() -> None:
    """Each MIG slice is a card to a program."""
    facts = replace(NODE, gpus=(Gpu("NVIDIA A100 MIG slice", 19968, (8, 0)),) * 2)
    found = judged("gpu-count", count(modes={"mig.mode.current": ["Enabled"]}), facts)
    assert (found.status, found.summary) == (Status.PASS, "2 cards")


def test_driver_without_an_answer_from_any_card() -> None:
    """Row 41: cards never vanish silently; what nvidia-smi said instead stands with the failure."""
    facts = replace(DEV_BOX, driver="550.54.15", problems=("nvidia-smi finds no devices",))
    found = judged("gpu-count", {**DRIVER, "problem": "No devices were found"}, facts)
    assert found.status is Status.FAIL
    assert "has 4 cards, and none answers: No devices were found" in found.summary
    assert "nvidia-smi finds no devices" in found.detail


def test_expected_cards_on_a_machine_without_any() -> None:
    """A layer that counts cards is not met by a machine without a driver."""
    assert judged("gpu-count", {}, DEV_BOX, settings={"gpus": 1}).status is Status.FAIL
    assert judged("gpu-count", {}, DEV_BOX).status is Status.SKIP


def card(index: int = 0, **changes: str) -> dict[str, str]:
    usual = {
        "index": str(index),
        "name": "NVIDIA A100-SXM4-80GB",
        "ecc.mode.current": "Enabled",
        "ecc.errors.uncorrected.volatile.total": "0",
        "retired_pages.pending": "[N/A]",
        "remapped_rows.pending": "No",
        "remapped_rows.failure": "0",
        "clocks_throttle_reasons.active": "0x0000000000000001",
        "pcie.link.gen.current": "1",
        "pcie.link.gen.max": "4",
        "pcie.link.width.current": "16",
        "pcie.link.width.max": "16",
        "persistence_mode": "Disabled",
    }
    return usual | {name.replace("__", "."): value for name, value in changes.items()}


GEFORCE = {name: "[N/A]" for name in card() if name.startswith(("ecc", "retired", "remapped"))} | {"index": "0"}


@pytest.mark.parametrize(
    ("cards", "problem", "status", "words"),
    [
        ([card(), card(1)], "", Status.PASS, "2 cards: no memory errors"),
        (
            [card(), card(1, ecc__errors__uncorrected__volatile__total="2")],
            "",
            Status.FAIL,
            "card 1 has 2 uncorrectable",
        ),
        ([card(remapped_rows__pending="Yes")], "", Status.FAIL, "waits to be remapped"),
        ([card(remapped_rows__pending="1")], "", Status.FAIL, "waits to be remapped"),
        ([card(remapped_rows__failure="Yes")], "", Status.FAIL, "could not be remapped"),
        (
            [card(remapped_rows__failure="Requested functionality has been deprecated")],
            "",
            Status.PASS,
            "no memory errors",
        ),
        ([card(retired_pages__pending="Yes")], "", Status.FAIL, "waits to be retired"),
        ([card(ecc__errors__uncorrected__volatile__total="[GPU requires reset]")], "", Status.FAIL, "has to be reset"),
        ([GEFORCE], "", Status.PASS, "no error-correcting memory"),
        ([card()], "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.", Status.FAIL, "reset"),
        ([card()], "WARNING: infoROM is corrupted at gpu 0000:3B:00.0", Status.WARN, "infoROM"),
        ([], "nvidia-smi gave no answer within 20 s", Status.ERROR, "gave no answer"),
        ([], "nvidia-smi is not installed", Status.SKIP, "not installed"),
        ([], "", Status.SKIP, "not recorded"),
    ],
)
def test_health(cards: list[dict[str, str]], problem: str, status: Status, words: str) -> None:
    """Uncorrectable errors and pending repairs fail; what a card does not have is no fault, and silence is no pass."""
    found = judged("gpu-health", {**DRIVER, "cards": cards, "problem": problem})
    assert found.status is status
    assert words in found.summary


def test_health_names_the_card_to_reset() -> None:
    """The fix is for the card that has the errors."""
    found = judged("gpu-health", {**DRIVER, "cards": [card(), card(3, remapped_rows__pending="Yes")]})
    assert found.fix == "sudo nvidia-smi -r -i 3"


@pytest.mark.parametrize(
    ("reasons", "status"),
    [
        ("0x0000000000000000", Status.PASS),
        ("0x0000000000000001", Status.PASS),  # idle
        ("0x0000000000000006", Status.PASS),  # application clocks and the power cap
        ("0x0000000000000020", Status.WARN),
        ("0x0000000000000008", Status.FAIL),
        ("0x0000000000000048", Status.FAIL),
        ("0x0000000000000080", Status.FAIL),
        ("[N/A]", Status.SKIP),
        ("Active", Status.SKIP),
    ],
)
def test_throttle(reasons: str, status: Status) -> None:
    """Slowdown by the hardware fails; idling and the power cap are how cards work."""
    found = judged("gpu-throttle", {**DRIVER, "cards": [card(clocks_throttle_reasons__active=reasons)]})
    assert found.status is status


def test_lanes_count_only_under_load() -> None:
    """An idle card slows its link down; lanes that are missing while it works are worth a look."""
    busy = {"clocks_throttle_reasons.active": "0x0", "pcie.link.width.current": "8"}
    assert judged("gpu-throttle", {**DRIVER, "cards": [card() | busy]}).status is Status.WARN
    idle = {"pcie.link.width.current": "8"}
    assert judged("gpu-throttle", {**DRIVER, "cards": [card() | idle]}).status is Status.PASS


def event(code: int, age: float | None = 60.0) -> dict[str, Any]:
    return {"bus": "0000:3b:00", "code": code, "count": 1, "age": age, "text": "pid=7, name=python"}


@pytest.mark.parametrize(
    ("events", "status", "words"),
    [
        ([], Status.PASS, "no error of a card"),
        ([event(31), event(13), event(43)], Status.PASS, "3 errors of programs"),
        ([event(31), event(79)], Status.FAIL, "card 0000:3b:00 had Xid 79 (fallen off the bus), 1 min ago"),
        ([event(79, None)], Status.FAIL, "Xid 79"),
        ([event(48, 3 * 3600)], Status.WARN, "3 h ago"),
        ([event(63)], Status.WARN, "remapped"),  # those who drain nodes by these do not agree on it
        ([event(154)], Status.WARN, "Xid 154"),
    ],
)
def test_xid(events: list[dict[str, Any]], status: Status, words: str) -> None:
    """Errors of the card fail while they are fresh; those of programs are no fault of the machine."""
    found = judged("xid", {**DRIVER, "events": events, "unread": ""})
    assert found.status is status
    assert words in found.summary
    assert len(found.detail) == len(events)


@pytest.mark.parametrize("facts", [NODE, DEV_BOX])
def test_kernel_log_without_the_right_to_read_it(facts: HostFacts) -> None:
    """What could not be read is never a pass."""
    found = judged("xid", {**DRIVER, "events": [], "unread": "/dev/kmsg: Operation not permitted"}, facts)
    assert found.status is Status.SKIP
    assert fix_of("xid", found) == "sudo dmesg | grep -i xid"
