"""The card: code a build holds for it, and the CUDA versions that know it."""

from __future__ import annotations

import pytest

from conda_llmenv.hardware import check_before, serves
from conda_llmenv.model import Gpu, Status, Verdict
from tests.hardware.building import A100_CARD, LOGIN_NODE, composed, host, offered

RFDIFFUSION = """\
name: rfd
channels: [defaults, conda-forge]
dependencies:
    - python=3.9
    - pytorch=1.9
    - cudatoolkit=11.1
    - dgl-cuda11.1
"""
"""Of the shape of RosettaCommons/RFdiffusion's SE3nv.yml."""


@pytest.mark.parametrize(
    ("archs", "capability", "status", "by"),
    [
        (["sm_70", "sm_80"], (9, 0), Status.FAIL, ""),
        (["sm_70", "sm_80"], (8, 6), Status.PASS, "sm_80"),
        (["sm_80", "sm_86"], (8, 9), Status.PASS, "sm_80"),
        (["sm_86"], (8, 0), Status.FAIL, ""),
        (["sm_80", "compute_80"], (9, 0), Status.WARN, "compute_80"),
        (["sm_80", "compute_90"], (8, 9), Status.PASS, "sm_80"),
        (["compute_90"], (8, 0), Status.FAIL, ""),
        (["sm_90a"], (9, 0), Status.PASS, "sm_90a"),
        (["sm_90a", "compute_90a"], (10, 0), Status.FAIL, ""),
        (["sm_100", "sm_120"], (12, 1), Status.PASS, "sm_120"),
        (["sm_100"], (12, 0), Status.FAIL, ""),
        (["sm_100"], (10, 3), Status.PASS, "sm_100"),
        (["sm_80"], (8, 7), Status.FAIL, ""),
        (["sm_87"], (8, 7), Status.PASS, "sm_87"),
        (["sm_87"], (8, 9), Status.FAIL, ""),
        (["gfx90a", "nonsense"], (9, 0), Status.FAIL, ""),
        ([], (8, 0), Status.FAIL, ""),
    ],
)
def test_which_code_serves_which_card(archs: list[str], capability: tuple[int, int], status: Status, by: str) -> None:
    """Same major and no newer minor; PTX counts with a warning (43: pytorch#90761, #150733)."""
    served = serves(archs, capability)
    assert (served.status, served.by) == (status, by)


def failed(text: str, tier: str) -> list[Verdict]:
    """Return the failed verdicts before the solve, on a login node."""
    spec = composed(text, tier)
    return [
        verdict
        for verdict in check_before(spec, LOGIN_NODE, offered(LOGIN_NODE, spec))
        if verdict.status is Status.FAIL
    ]


def test_cuda_older_than_the_card_is_refused_with_file_and_line() -> None:
    """sm_90 needs CUDA 11.8, the file has 11.1: refused before any solve (8: RFdiffusion [1b476ad])."""
    (verdict,) = failed(RFDIFFUSION, "h100")
    assert verdict.link == "card"
    assert "cannot use cudatoolkit=11.1: it needs CUDA 11.8 or newer" in verdict.summary
    assert verdict.detail[0] == "cudatoolkit=11.1 (environment.yml:6) allows CUDA 11.1"
    assert [origin.where for origin in verdict.origins] == ["environment.yml:6", "environment.yml:7"]
    assert "A100" in verdict.changes[0].new[0]


def test_the_same_file_passes_on_the_older_card() -> None:
    """An A100 needs CUDA 11.0 only (8)."""
    assert failed(RFDIFFUSION, "a100") == []


@pytest.mark.parametrize(
    ("line", "tier", "change"),
    [
        ("cuda-version=11.1", "h100", "cuda-version >=12.0,<13"),
        ("cudatoolkit=11.3", "h100", "cudatoolkit=11.8"),
        ("cudatoolkit==11.3.*", "h100", "cudatoolkit=11.8"),
        ("cudatoolkit=11.1.74", "h100", "cudatoolkit=11.8"),
        ("pytorch-cuda=11.7", "h100", "pytorch-cuda=12.4"),
        ("cuda-version=12.4", "rtx-50", "cuda-version >=12.8,<13"),
        ("cuda-version >=13", "v100", "cuda-version >=12.0,<13"),
        ("cuda-version=13.0", "v100", "cuda-version >=12.0,<13"),
    ],
)
def test_the_change_asks_for_a_cuda_that_card_and_driver_use(line: str, tier: str, change: str) -> None:
    """The proposed spec is one the package exists in, for this card and driver, at the line to edit."""
    verdict = failed(f"dependencies:\n  - python=3.11\n  - {line}\n", tier)[0]
    assert verdict.check == "card-cuda"
    assert [entry.new[0] for entry in verdict.changes] == [change]
    assert verdict.changes[0].origin is not None
    assert verdict.changes[0].origin.where == "environment.yml:3"


@pytest.mark.parametrize(
    "line", ["cuda-version >=11", "cudatoolkit", "cuda-version >=12.4,<13", "cuda-nvcc=12.9.86", "nccl"]
)
def test_what_leaves_a_usable_cuda_passes(line: str) -> None:
    """A range that still holds a usable CUDA, or a spec that says nothing provable, is the solver's business."""
    assert failed(f"dependencies: [{line!r}]\n", "h100") == []


def test_build_globs_count() -> None:
    """A CUDA version inside a build glob binds like a spec."""
    (verdict,) = failed("dependencies:\n  - pytorch=1.12=*cuda11.3*\n", "h100")
    assert verdict.check == "card-cuda"
    assert verdict.origins[0].where == "environment.yml:2"


def test_another_card_than_the_tier_is_for_is_a_warning() -> None:
    """Planning for H100 nodes on an A100 machine is allowed, and said."""
    spec, facts = composed("dependencies: [python]\n", "h100"), host("550.54.15", "12.4", A100_CARD)
    verdict = check_before(spec, facts, offered(facts, spec))[0]
    assert verdict.status is Status.WARN
    assert "tier h100 is not the tier of the card here, NVIDIA A100-SXM4-80GB" in verdict.summary


def test_no_card_is_a_skip_never_a_pass() -> None:
    """On a login node the card was not seen (39: "skipped", not "ok")."""
    spec = composed("dependencies: [python]\n")
    verdict = check_before(spec, LOGIN_NODE, offered(LOGIN_NODE, spec))[0]
    assert (verdict.check, verdict.status) == ("card", Status.SKIP)


def test_the_card_here_wins_over_the_tier() -> None:
    """A 4090 in a tier written for 8.6 is judged as the 8.9 it is."""
    text = 'llmenv: {gpu: {match: ["RTX 4090"], compute_capability: "8.6"}, virtual_packages: {__cuda: "12.4"}}\n'
    from conda_llmenv.compose.merging import merge
    from tests.hardware.building import fragment
    from tests.hardware.building import tier as read_tier

    spec = merge([read_tier("rtx", text), fragment("dependencies: [cuda-version=11.4]\n")])
    facts = host("550.54.15", "12.4", Gpu("NVIDIA GeForce RTX 4090", 24564, (8, 9)))
    here = [verdict for verdict in check_before(spec, facts, offered(facts, spec)) if verdict.status is Status.FAIL]
    assert "compute capability 8.9" in here[0].summary
    there = check_before(spec, facts, offered(facts, spec), assumed=True)
    assert not [verdict for verdict in there if verdict.status is Status.FAIL]
