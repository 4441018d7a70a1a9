"""Reading what nvidia-smi prints, in the shapes it has had over the years."""

from __future__ import annotations

import pytest

from conda_llmenv.host.nvidia_smi import UNNAMED, parse_csv, parse_xml
from conda_llmenv.model import Gpu

A100 = Gpu("NVIDIA A100-SXM4-80GB", 81920, (8, 0))


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA A100-SXM4-80GB, 81920, 8.0, 550.54.15\n",
        "NVIDIA A100-SXM4-80GB,81920,8.0,550.54.15\r\n",
        "name, memory.total [MiB], compute_cap, driver_version\nNVIDIA A100-SXM4-80GB, 81920 MiB, 8.0, 550.54.15\n",
        "product.name, fb.total [MiB], cc, kmd_version\nNVIDIA A100-SXM4-80GB, 81920 MiB, 8.0, 550.54.15\n",
        "driver_version, name, compute_cap, memory.total\n550.54.15, NVIDIA A100-SXM4-80GB, 8.0, 81920 MiB\n",
    ],
    ids=["plain", "crlf", "header and units", "changed header words", "other order"],
)
def test_one_card_in_every_spelling(text: str) -> None:
    """Headers, units, their words and the order of columns make no difference (41: gkyle/startrails#18)."""
    reading = parse_csv(text)
    assert reading.gpus == (A100,)
    assert reading.driver == "550.54.15"
    assert reading.problems == ()


def test_one_driver_line_per_card() -> None:
    """Four cards give four driver columns; the driver is one (41: uv#14647)."""
    reading = parse_csv("NVIDIA A100-SXM4-80GB, 81920, 8.0, 550.54.15\n" * 4)
    assert reading.gpus == (A100,) * 4
    assert reading.driver == "550.54.15"
    assert reading.problems == ()


def test_only_driver_lines() -> None:
    """An answer to ``--query-gpu=driver_version`` names the driver and no card."""
    reading = parse_csv("572.60\n572.60\n")
    assert (reading.gpus, reading.driver, reading.problems) == ((), "572.60", ())


def test_mixed_cards_keep_their_own_numbers() -> None:
    """Two kinds of card stay two kinds."""
    reading = parse_csv("NVIDIA H100 80GB HBM3, 81559, 9.0, 535.104.05\nTesla V100-SXM2-32GB, 32768, 7.0, 535.104.05\n")
    assert [gpu.compute_capability for gpu in reading.gpus] == [(9, 0), (7, 0)]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("No devices were found\n", "no card is visible"),
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n", "reboot"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that …\n", "module"),
        ("Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n", "reset"),
        ('Field "compute_cap" is not a valid field to query.\n', "does not know a field"),
    ],
    ids=["no devices", "mismatch", "no module", "lost card", "unknown field"],
)
def test_failures_are_said(text: str, word: str) -> None:
    """What nvidia-smi prints instead of cards becomes a sentence, never a card."""
    reading = parse_csv(text)
    assert reading.gpus == ()
    assert word in reading.problems[0]


def test_fields_that_are_not_available() -> None:
    """``[N/A]`` is unknown, and the card stays (41)."""
    reading = parse_csv("NVIDIA GB10, [N/A], 12.1, 580.95.05\nNVIDIA A2, [Not Supported], [N/A], [Unknown Error]\n")
    assert reading.gpus == (Gpu("NVIDIA GB10", None, (12, 1)), Gpu("NVIDIA A2", None, None))
    assert reading.driver == "580.95.05"


def test_a_card_without_a_name_does_not_vanish() -> None:
    """A row whose name cannot be read is still a card, and the problem is reported."""
    reading = parse_csv("[Unknown Error], 81920, 8.0, 550.54.15\n")
    assert reading.gpus == (Gpu(UNNAMED, 81920, (8, 0)),)
    assert "without a name" in reading.problems[0]


def test_a_mig_slice_is_named_by_the_driver() -> None:
    """The name of a slice and its own memory survive."""
    reading = parse_csv("NVIDIA A100-SXM4-40GB MIG 1g.5gb, 4864, 8.0, 550.54.15\n")
    assert reading.gpus == (Gpu("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4864, (8, 0)),)


def test_another_table_is_reported() -> None:
    """The picture for people is not the CSV asked for: a problem, no invented card."""
    reading = parse_csv(
        "+----------------------------+\n| NVIDIA-SMI 550.54.15       |\n+----------------------------+\n"
    )
    assert reading.gpus == ()
    assert reading.problems


XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <driver_version>550.54.15</driver_version>
  <cuda_version>12.4</cuda_version>
  <attached_gpus>1</attached_gpus>
  <gpu id="00000000:17:00.0">
    <{key}>NVIDIA A100-SXM4-80GB</{key}>
    <fb_memory_usage><total>81920 MiB</total></fb_memory_usage>
    {more}
  </gpu>
</nvidia_smi_log>
"""


def test_xml() -> None:
    """``nvidia-smi -q -x`` gives driver, CUDA and cards."""
    reading = parse_xml(XML.format(key="product_name", more=""))
    assert reading.gpus == (Gpu("NVIDIA A100-SXM4-80GB", 81920, None),)
    assert (reading.driver, reading.cuda, reading.problems) == ("550.54.15", "12.4", ())


def test_a_renamed_xml_key_does_not_lose_the_card() -> None:
    """A key under another name leaves a nameless card and a sentence that shows the new keys (41)."""
    reading = parse_xml(XML.format(key="product_title", more=""))
    assert reading.gpus == (Gpu(UNNAMED, 81920, None),)
    assert "product_title" in reading.problems[0]


def test_renamed_card_elements_are_noticed() -> None:
    """If the cards themselves are called otherwise, their count gives it away."""
    text = XML.format(key="product_name", more="").replace("<gpu ", "<device ").replace("</gpu>", "</device>")
    reading = parse_xml(text)
    assert reading.gpus == ()
    assert "counts 1 cards but lists none" in reading.problems[0]


def test_xml_of_a_card_in_mig_mode() -> None:
    """A card cut into slices offers the slices' memory, not its own."""
    part = "<mig_device><fb_memory_usage><total>{} MiB</total></fb_memory_usage></mig_device>"
    more = f"<mig_devices>{part.format(9856)}{part.format(19968)}</mig_devices>"
    reading = parse_xml(XML.format(key="product_name", more=more))
    assert [gpu.memory_mib for gpu in reading.gpus] == [9856, 19968]


@pytest.mark.parametrize("text", ["", "<nvidia_smi_log>", "No devices were found"])
def test_broken_xml_is_reported(text: str) -> None:
    """Half an answer is a problem, not a crash."""
    assert parse_xml(text).problems
