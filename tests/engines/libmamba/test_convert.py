"""What libmamba is told of a MatchSpec, and what of it stays a rule on records."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import rattler

from conda_llmenv.engines.libmamba.convert import Candidate, to_wanted
from conda_llmenv.engines.libmamba.repodata import fetch
from conda_llmenv.engines.rattler import convert
from conda_llmenv.model import Channel
from tests.channel.interpreter import subdir
from tests.engines.support import channel, solve_request

CHANNELS = (Channel("conda-forge", "https://mirror.example/conda-forge"), Channel("other", "https://x.example/other"))


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("numpy", "numpy"),
        ("NumPy", "numpy"),
        ("numpy=2.1", "numpy 2.1.*"),
        ("numpy==2.1", "numpy ==2.1"),
        ("numpy 2.1", "numpy ==2.1"),
        ("numpy >=2,<3|4.*", "numpy >=2,<3|4.*"),
        ("numpy ~=2.1", "numpy ~=2.1"),
        ("numpy 1!2.*", "numpy 1!2.*"),
        ("torch=2.0=cuda*", "torch ==2.0 cuda*"),
        ("torch=*=cuda*", "torch * cuda*"),
        ("torch[build='^cuda1[12].*$']", "torch"),
        ("conda-forge::numpy >=2", "numpy >=2"),
        ("numpy[version='>=2', build_number='>3']", "numpy >=2"),
    ],
)
def test_libmamba_is_told_name_version_and_build(written: str, told: str) -> None:
    """In one spelling, with the meaning that the other engine gives it."""
    assert to_wanted(convert.to_spec(written, CHANNELS)).text == told


def test_a_channel_becomes_the_address_it_has_here() -> None:
    """A mirror's address and not the name: libmamba would look a name up at anaconda.org."""
    assert to_wanted(convert.to_spec("other::numpy", CHANNELS)).channel == "https://x.example/other"
    assert to_wanted(convert.to_spec("numpy", CHANNELS)).channel is None


@pytest.fixture
def candidates(offline_channel: Path) -> dict[str, Candidate]:
    """Return some records of the offline channel by file name."""
    request = solve_request("gate-c", "data-generic", channels=(channel(offline_channel),))
    found = asyncio.run(fetch(request, [rattler.MatchSpec(text) for text in request.specs], None))
    return {one.file_name: one for one in found}


@pytest.mark.parametrize(
    ("written", "fits"),
    [
        ("gate-c", {"1.0", "2.0"}),
        ("gate-c[build_number='<1']", {"1.0", "2.0"}),
        ("gate-c[build_number='>0']", set()),
        (f"gate-c[subdir={subdir()}]", {"1.0", "2.0"}),
        ("gate-c[subdir=noarch]", set()),
        ("gate-c[build='^[0-9]$']", {"1.0", "2.0"}),
        ("gate-c[build='^[1-9]$']", set()),
        ("gate-c[fn='gate-c-1.0-0.conda']", {"1.0"}),
        ("gate-c[sha256=0000000000000000000000000000000000000000000000000000000000000000]", set()),
    ],
)
def test_what_libmamba_is_not_told_is_compared_here(
    written: str, fits: set[str], candidates: dict[str, Candidate]
) -> None:
    """Build numbers, hashes, platforms and file names; records of other packages are not concerned."""
    wanted = to_wanted(rattler.MatchSpec(written, strict=False))
    taken = {name for name, one in candidates.items() if wanted.takes(one)}
    assert {name.split("-")[2] for name in taken if name.startswith("gate-c-")} == fits
    assert any(name.startswith("data-generic") for name in taken)
