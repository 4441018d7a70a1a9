"""CUDA generations, model libraries and accelerators."""

from __future__ import annotations

import pytest

from conda_llmenv.hardware import check_after, check_before, check_pip
from conda_llmenv.model import HostFacts, Status, Verdict
from tests.hardware.building import A100_CARD, LOGIN_NODE, composed, host, offered, pip_plan, record, solution

R580 = host("580.65.06", "13.0", A100_CARD)


def before(text: str, tier: str | None, *more: tuple[str, str], facts: HostFacts = LOGIN_NODE) -> list[Verdict]:
    """Return what is found before the solve, without passes and skips."""
    spec = composed(text, tier, *more)
    found = check_before(spec, facts, offered(facts, spec))
    return [verdict for verdict in found if verdict.status in {Status.FAIL, Status.WARN}]


def test_cudatoolkit_beside_cuda_version_names_both_files() -> None:
    """Two generations of the same thing, in two files (3: Vision-CAIR/MiniGPT-4 [0a781bf])."""
    text = "dependencies:\n  - cudatoolkit\n  - pytorch-mutex=1.0=cuda\n"
    (verdict,) = before(text, "a100", ("cuda", "dependencies: [cuda-version=12.4]\n"))
    assert verdict.status is Status.FAIL
    assert [origin.where for origin in verdict.origins] == ["environment.yml:2", "cuda.yml:1"]
    assert "there is no cudatoolkit for CUDA 12.4" in verdict.summary
    assert [(change.kind, change.name) for change in verdict.changes] == [("drop", "cudatoolkit")]


def test_two_generations_that_agree_are_a_warning() -> None:
    """11.8 exists as both; one of them is enough."""
    (verdict,) = before("dependencies:\n  - cudatoolkit=11.8\n  - cuda-version=11.8\n", "a100")
    assert (verdict.check, verdict.status) == ("legacy-cudatoolkit", Status.WARN)


def test_cudatoolkit_beside_pytorch_cuda_is_a_warning() -> None:
    """The second set of libraries is used by nobody (12: OpenChatKit [08b7dbd])."""
    text = "dependencies:\n  - cudatoolkit=11.6.0\n  - pytorch-cuda=11.6\n  - nccl=2.12.12.1\n"
    (verdict,) = before(text, "a100")
    assert verdict.status is Status.WARN
    assert verdict.detail == ("cudatoolkit=11.6.0 (environment.yml:2)", "pytorch-cuda=11.6 (environment.yml:3)")


def test_two_cuda_versions_are_a_warning() -> None:
    """The framework would be for one, everything else for the other."""
    (verdict,) = before("dependencies: [pytorch-cuda=11.8, 'cuda-version=12.4']\n", "a100")
    assert (verdict.check, verdict.status) == ("cuda-mix", Status.WARN)


@pytest.mark.parametrize(
    ("line", "words", "change"),
    [
        ("cudatoolkit=12.1", "it ends with 11.8", "cuda-version=12.1"),
        ("pytorch-cuda=12.6", "it exists for 11.6, 11.7, 11.8, 12.1, 12.4", "cuda-version=12.6"),
    ],
)
def test_a_cuda_package_that_was_never_made(line: str, words: str, change: str) -> None:
    """A release nobody built cannot be solved; the package that took over is named."""
    (verdict,) = before(f"dependencies:\n  - {line}\n", "a100")
    assert verdict.check == "no-such-cuda"
    assert words in verdict.summary
    assert verdict.changes[0].new == (change,)
    assert verdict.origins[0].where == "environment.yml:2"


@pytest.mark.parametrize(
    ("tier", "status"),
    [("a100", None), ("h100", None), ("t4", Status.FAIL), ("v100", Status.FAIL), ("cpu", Status.FAIL)],
)
@pytest.mark.parametrize(
    "text", ["dependencies:\n  - flash-attn\n", "dependencies:\n  - pip:\n      - flash-attn>=2.6\n"]
)
def test_flash_attention_needs_ampere(tier: str, status: Status | None, text: str) -> None:
    """flash-attn 2 has kernels from compute capability 8.0 on, whichever side installs it."""
    found = [verdict.status for verdict in before(text, tier) if verdict.link == "accelerator"]
    assert found == ([status] if status else [])


def test_flash_attention_and_an_old_torch() -> None:
    """A plan whose torch is older than the kernels were written for."""
    spec = composed("dependencies:\n  - flash-attn\n  - pytorch=2.1\n")
    plan = solution(record("flash-attn", "2.8.3", "py310h_0"), record("pytorch", "2.1.2", "cuda118_py310h_301"))
    found = check_after(spec, plan, R580, offered(R580, spec))
    failed = [verdict for verdict in found if verdict.status is Status.FAIL]
    assert "flash-attn 2.8.3 needs torch 2.2 or newer, and the plan has 2.1.2" in failed[0].summary
    assert failed[0].origins[0].where == "environment.yml:2"


@pytest.mark.parametrize(("torch", "fails"), [("2.1.2", True), ("2.2.0", False)])
def test_transformers_needs_a_torch_new_enough(torch: str, *, fails: bool) -> None:
    """The wheel of transformers names torch as an extra only: solver and pip let an old one through."""
    spec = composed("dependencies:\n  - transformers\n  - pytorch\n")
    plan = solution(record("transformers", "4.57.6", "pyhd8ed1ab_1"), record("pytorch", torch, "cuda118_py310h_301"))
    found = [verdict for verdict in check_after(spec, plan, R580, offered(R580, spec)) if verdict.status is Status.FAIL]
    assert bool(found) is fails
    if found:
        assert "transformers 4.57.6 needs torch 2.2 or newer" in found[0].summary
        assert [origin.where for origin in found[0].origins] == ["environment.yml:2", "environment.yml:3"]


def test_libraries_of_the_pip_section_are_judged_against_condas_torch() -> None:
    """Framework by conda, transformers by pip: still one environment."""
    spec = composed("dependencies:\n  - pytorch\n  - pip:\n      - transformers\n")
    plan = solution(record("python", "3.10.14", "h_0"), record("pytorch", "1.13.1", "cuda112py310h_300"))
    found = check_pip(spec, pip_plan("transformers==4.48.0"), plan, R580, offered(R580, spec))
    assert [verdict.check for verdict in found if verdict.status is Status.FAIL] == ["library-torch"]


def test_an_unknown_library_says_nothing() -> None:
    """What the tables do not know is left to the solver."""
    spec = composed("dependencies: [pytorch, transformers]\n")
    plan = solution(record("transformers", "4.1.0", "py_0"), record("pytorch", "1.7.0", "cuda102py38h_1"))
    found = check_after(spec, plan, host("470.82.01", "11.4"), offered(R580, spec))
    assert not [verdict for verdict in found if verdict.link == "model-library"]
