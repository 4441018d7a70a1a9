"""The dated tables and their override."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packaging.version import Version

from conda_llmenv.errors import InputError
from conda_llmenv.hardware.tables import STEMS, load_tables

DATA = Path(__file__).parent.parent.parent / "conda_llmenv" / "data"


@pytest.mark.parametrize("stem", STEMS)
def test_every_table_is_dated_and_has_a_source(stem: str) -> None:
    """A figure without date and source cannot be checked by the next person."""
    raw = json.loads((DATA / f"{stem}.json").read_text(encoding="utf-8"))
    assert raw.pop("as_of") >= "2026-01-01"
    for name, table in raw.items():
        assert len(table["source"]) > 20, name


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("NVIDIA A100-SXM4-80GB", (8, 0)),
        ("NVIDIA A10", (8, 6)),
        ("NVIDIA A10G", (8, 6)),
        ("NVIDIA L4", (8, 9)),
        ("NVIDIA L40S", (8, 9)),
        ("NVIDIA H100 80GB HBM3", (9, 0)),
        ("NVIDIA GH200 480GB", (9, 0)),
        ("NVIDIA GeForce RTX 4090", (8, 9)),
        ("NVIDIA GeForce RTX 3090 Ti", (8, 6)),
        ("NVIDIA GeForce RTX 5090", (12, 0)),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", (12, 0)),
        ("NVIDIA RTX 6000 Ada Generation", (8, 9)),
        ("NVIDIA RTX A6000", (8, 6)),
        ("Quadro RTX 6000", (7, 5)),
        ("Tesla V100-SXM2-32GB", (7, 0)),
        ("Tesla T4", (7, 5)),
        ("NVIDIA GB200", (10, 0)),
        ("NVIDIA GB10", (12, 1)),
        ("Matrox G200", None),
    ],
)
def test_capability_by_name(name: str, capability: tuple[int, int] | None) -> None:
    """Names are matched by whole words, the longest first: an A10 is not an A100, an RTX 6000 comes in three kinds."""
    assert load_tables().capability_of(name) == capability


@pytest.mark.parametrize(
    ("capability", "first"),
    [
        ((8, 0), "11.0"),
        ((8, 6), "11.1"),
        ((8, 9), "11.8"),
        ((9, 0), "11.8"),
        ((10, 0), "12.8"),
        ((12, 0), "12.8"),
        ((7, 5), "10.0"),
    ],
)
def test_first_cuda_of_a_capability(capability: tuple[int, int], first: str) -> None:
    """The CUDA that first compiled for a card (CUDA release notes)."""
    assert load_tables().first_cuda_for(capability) == Version(first)


def test_volta_and_older_left_with_cuda_13() -> None:
    """CUDA 13.0 dropped everything below 7.5; Turing stays."""
    tables = load_tables()
    assert tables.dropped_by((7, 0), Version("12.9")) is None
    assert tables.dropped_by((7, 0), Version("13.2")) == Version("13.0")
    assert tables.dropped_by((7, 5), Version("13.2")) is None


def test_an_override_file_adds_and_replaces() -> None:
    """A person's file adds a card and corrects a figure; everything else stays."""
    tables = load_tables(
        {
            "gpus": {"compute_capability": {"entries": {"Z900": "13.0"}}},
            "cuda": {"driver_floors": {"entries": {"13": "581.1"}}},
        }
    )
    assert tables.capability_of("NVIDIA Z900") == (13, 0)
    assert tables.capability_of("NVIDIA A100-PCIE-40GB") == (8, 0)
    assert tables.driver_floor(Version("13.0")) == Version("581.1")
    assert load_tables().driver_floor(Version("13.0")) == Version("580")


@pytest.mark.parametrize(
    "override",
    [
        {"gpu": {}},
        {"gpus": {"compute_capability": {"entries": {"Z900": "new"}}}},
        {"cuda": {"driver_floors": {"entries": {"13": None}}}},
        {"cuda": 3},
        {"torch": {"releases": {"entries": {"2.16": {"latest": "2.16.0"}}}}},
    ],
    ids=["unknown table", "no capability", "no version", "no mapping", "incomplete release"],
)
def test_a_wrong_override_is_an_input_error(override: dict[str, object]) -> None:
    """A mistake in the override file is said as such, with what to look at."""
    with pytest.raises(InputError) as caught:
        load_tables(override)
    assert caught.value.hint
    assert caught.value.exit_code == 2


def test_every_wheel_variant_has_an_arch_list() -> None:
    """A recommended wheel is always one whose code is known."""
    tables = load_tables()
    missing = [
        (str(release.series), str(cuda))
        for release in tables.torch
        if release.series >= Version("2.0")
        for cuda in {*release.variants, release.pypi_cuda}
        if tables.arch_list(release.latest, cuda) is None
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("torch", "cuda"),
    [
        ("2.1.2", "12.1"),
        ("2.5.1", "12.4"),
        ("2.7.1", "12.6"),
        ("2.10.0", "12.8"),
        ("2.11.0", "13.0"),
        ("2.13.0", "13.0"),
        ("2.15.0", "13.2"),
    ],
)
def test_cuda_of_the_pypi_wheel(torch: str, cuda: str) -> None:
    """Read from the wheels' own metadata on PyPI."""
    release = load_tables().torch_release(Version(torch))
    assert release is not None
    assert release.pypi_cuda == Version(cuda)
