"""torch in the pip section: which CUDA a wheel is for, and the one to take instead."""

from __future__ import annotations

import pytest

from conda_llmenv.hardware import apply_changes, check_before, check_pip
from conda_llmenv.model import EnvSpec, Gpu, HostFacts, PipPlan, Status, Verdict
from tests.hardware.building import A100_CARD, LOGIN_NODE, composed, host, offered, pip_plan, record, solution

R535 = host("535.104.05", "12.2", A100_CARD)
R580 = host("580.65.06", "13.0", A100_CARD)
V100_CARD = Gpu("Tesla V100-SXM2-32GB", 32768, (7, 0))
PYTHON = solution(record("python", "3.11.9", "hb806964_0_cpython"))


def section(*lines: str, python: str = "3.11") -> str:
    """Return an environment.yml with a pip section; its first line stands at line 5."""
    return "\n".join(
        ["dependencies:", f"  - python={python}", "  - pip", "  - pip:", *(f"      - {line}" for line in lines), ""]
    )


def before(text: str, facts: HostFacts, tier: str | None = "a100", indexes: tuple[str, ...] = ()) -> list[Verdict]:
    """Return what is found before anything is resolved, without the passes."""
    spec = composed(text, tier)
    found = check_before(spec, facts, offered(facts, spec), configured_indexes=indexes)
    return [verdict for verdict in found if verdict.status is not Status.PASS]


def resolved(spec: EnvSpec, plan: PipPlan, facts: HostFacts) -> list[Verdict]:
    """Return what is found on a resolved pip section, without the passes."""
    found = check_pip(spec, plan, PYTHON, facts, offered(facts, spec))
    return [verdict for verdict in found if verdict.status is not Status.PASS]


def test_a_pinned_torch_for_a_newer_cuda_is_refused_at_plan_time() -> None:
    """PyPI's torch 2.13 is for CUDA 13, driver 535 stops at 12: torch, variant and index are named (63)."""
    (verdict,) = before(section("torch==2.13.0"), R535)
    assert verdict.status is Status.FAIL
    assert verdict.summary == (
        "torch 2.13.0 is built for CUDA 13.0, and driver 535.104.05 (CUDA up to 12.2) does not run that"
    )
    assert verdict.detail == ("newest that runs here: torch==2.14.1+cu126 from https://download.pytorch.org/whl/cu126",)
    assert "driver 580 or newer" in verdict.why
    assert verdict.origins[0].where == "environment.yml:5"
    assert [(change.kind, change.new) for change in verdict.changes] == [
        ("pip-option", ("--extra-index-url https://download.pytorch.org/whl/cu126",)),
        ("pip", ("torch==2.13.0+cu126",)),
    ]


def test_the_change_makes_it_pass() -> None:
    """Applied, the same check has only the warning of minor-version compatibility left."""
    spec = composed(section("torch==2.13.0", "numpy"))
    virtual = offered(R535, spec)
    (refused,) = [verdict for verdict in check_before(spec, R535, virtual) if verdict.status is Status.FAIL]
    fixed = apply_changes(spec, refused.changes)
    assert [requirement.text for requirement in fixed.pip.requirements] == ["torch==2.13.0+cu126", "numpy"]
    left = [verdict for verdict in check_before(fixed, R535, virtual) if verdict.status is not Status.PASS]
    assert [(verdict.check, verdict.status) for verdict in left] == [("torch-wheel", Status.WARN)]


def test_the_same_pin_passes_on_a_580_driver() -> None:
    """CUDA 13.0 is what driver 580 came with."""
    assert before(section("torch==2.13.0"), R580) == []


def test_an_unpinned_torch_is_judged_on_the_resolved_plan() -> None:
    """``torch`` says nothing; what the resolver took says all (63)."""
    spec = composed(section("torch"))
    assert before(section("torch"), R535) == []
    plan = pip_plan("torch==2.15.0", "cuda-toolkit==13.2.2", "nvidia-nccl-cu13==2.30.7")
    (verdict,) = resolved(spec, plan, R535)
    assert "torch 2.15.0 is built for CUDA 13.2" in verdict.summary
    assert verdict.changes[1].new == ("torch==2.14.1+cu126",)
    assert verdict.origins[0].where == "environment.yml:5"


def test_a_release_the_tables_do_not_know_is_judged_by_what_comes_with_it() -> None:
    """A torch of next year tells its CUDA by the runtime that is resolved beside it."""
    spec = composed(section("torch"))
    (verdict,) = resolved(spec, pip_plan("torch==2.19.0", "nvidia-cuda-runtime==14.1.3"), R535)
    assert "CUDA 14.1" in verdict.summary
    assert resolved(spec, pip_plan("torch==2.19.0"), R535) == []


@pytest.mark.parametrize(
    "plan",
    [
        pip_plan("torch==2.13.0+cu126"),
        pip_plan("torch==2.13.0", urls={"torch": "https://download.pytorch.org/whl/cu126/torch-2.13.0.whl"}),
        pip_plan("torch==2.13.0", "nvidia-cuda-runtime-cu12==12.6.77"),
        pip_plan("torch==2.10.0", "nvidia-cudnn-cu12==9.10.2.21"),
    ],
    ids=["local version", "address", "runtime beside it", "table"],
)
def test_evidence_of_an_older_cuda(plan: PipPlan) -> None:
    """Each kind of evidence tells that CUDA 12 was chosen: runs, with a warning."""
    found = resolved(composed(section("torch")), plan, R535)
    assert [(verdict.check, verdict.status) for verdict in found] == [("torch-wheel", Status.WARN)]


@pytest.mark.parametrize(
    "lines",
    [
        ("--index-url https://download.pytorch.org/whl/cu126", "torch==2.13.0"),
        ("--extra-index-url=https://download.pytorch.org/whl/cu126", "torch==2.13.0"),
        ("torch==2.13.0+cu126",),
        ("torch==2.10.0",),
    ],
)
def test_an_index_in_the_section_counts_before_the_resolve(lines: tuple[str, ...]) -> None:
    """Who already names the right index is not refused."""
    assert [verdict.status for verdict in before(section(*lines), R535)] == [Status.WARN]


def test_an_index_that_lacks_the_release_does_not_help() -> None:
    """2.15 has no CUDA 12.6 wheels: PyPI's would be taken."""
    lines = ("--extra-index-url https://download.pytorch.org/whl/cu126", "torch==2.15.0")
    (verdict,) = before(section(*lines), R535)
    assert verdict.status is Status.FAIL


@pytest.mark.parametrize(
    "index", ["https://mirror.example/simple", "https://user:s3cr3t@pypi.example/simple", "file:///srv/wheels"]
)
def test_a_private_index_waits_for_the_resolve(index: str) -> None:
    """What a mirror serves as torch 2.13.0 is not known before it was asked."""
    assert before(section("torch==2.13.0"), R535, indexes=(index,)) == []
    assert before(section(f"--index-url {index}", "torch==2.13.0"), R535) == []


def test_a_configured_pypi_is_pypi() -> None:
    """The person's pip configuration naming PyPI itself changes nothing."""
    assert before(section("torch==2.13.0"), R535, indexes=("https://pypi.org/simple",))


@pytest.mark.parametrize(
    ("pin", "status"),
    [
        ("torch==2.10.0", Status.PASS),
        ("torch==2.11.0+cu128", Status.FAIL),
        ("torch==2.12.1", Status.FAIL),
        ("torch==2.12.1+cu126", Status.PASS),
        ("torch==2.14.1+cu126", Status.PASS),
        ("torch==2.15.0", Status.FAIL),
    ],
)
def test_volta_left_the_wheels(pin: str, status: Status) -> None:
    """V100: out of CUDA 12.8 wheels with 2.11, never in CUDA 13, kept by 12.6 up to 2.14 (pytorch#172352)."""
    facts = host("580.65.06", "13.0", V100_CARD)
    found = [verdict.status for verdict in before(section(pin), facts, "v100") if verdict.check == "torch-wheel"]
    assert found == ([] if status is Status.PASS else [status])


def test_the_way_out_for_volta_is_the_last_cuda_12_6_wheel() -> None:
    """The proposed wheel holds code for the card, not only a CUDA the driver runs."""
    facts = host("580.65.06", "13.0", V100_CARD)
    (verdict,) = before(section("torch==2.15.0"), facts, "v100")
    assert "no code for Tesla V100-SXM2-32GB (compute capability 7.0)" in verdict.summary
    assert "dropped by CUDA 13.0" in verdict.why
    assert verdict.changes[1].new == ("torch==2.14.1+cu126",)


def test_blackwell_is_not_in_the_cuda_12_6_wheels() -> None:
    """sm_120 came with CUDA 12.8: the cu126 wheel has no kernels for an RTX 5090 (43: pytorch#150733)."""
    facts = host("580.65.06", "13.0", Gpu("NVIDIA GeForce RTX 5090", 32607, (12, 0)))
    (verdict,) = before(section("torch==2.9.1+cu126"), facts, "rtx-50")
    assert verdict.status is Status.FAIL
    assert "needs CUDA 12.8" in verdict.why
    assert verdict.changes[1].new == ("torch==2.9.1+cu130",)


def test_ada_runs_the_code_of_8_6() -> None:
    """No wheel holds sm_89, and none has to (do not demand the exact number)."""
    facts = host("580.65.06", "13.0", Gpu("NVIDIA L40S", 46068, (8, 9)))
    assert before(section("torch==2.13.0"), facts, None) == []


def test_a_cpu_wheel_for_a_gpu_tier_is_refused() -> None:
    """``+cpu`` leaves the card idle."""
    (verdict,) = before(section("torch==2.13.0+cpu"), R580)
    assert verdict.summary == "tier a100 would get a CPU build of torch"
    assert verdict.changes[1].new == ("torch==2.13.0+cu132",)


def test_a_cuda_wheel_on_the_cpu_tier_works_and_is_large() -> None:
    """A warning with the index of the small ones, never a refusal."""
    spec = composed(section("torch==2.13.0"), "cpu")
    assert before(section("torch==2.13.0"), LOGIN_NODE, "cpu") == []
    (verdict,) = resolved(spec, pip_plan("torch==2.13.0", "cuda-toolkit==13.0.3"), LOGIN_NODE)
    assert verdict.status is Status.WARN
    assert verdict.changes[0].new == ("--extra-index-url https://download.pytorch.org/whl/cpu",)
    assert resolved(spec, pip_plan("torch==2.13.0+cpu"), LOGIN_NODE) == []


def test_a_plan_without_any_cuda_library_is_a_cpu_build() -> None:
    """A local folder or mirror that serves the CPU build under the plain version is recognised by what is missing."""
    plan = pip_plan("torch==2.13.0", "filelock==3.20.0", "sympy==1.14.0")
    assert resolved(composed(section("torch==2.13.0"), "cpu"), plan, LOGIN_NODE) == []
    (verdict,) = resolved(composed(section("torch")), plan, R580)
    assert (verdict.check, verdict.status) == ("cpu-build", Status.FAIL)


def test_a_login_node_without_assumption_skips() -> None:
    """No driver known: not judged, and not called good."""
    (verdict,) = before(section("torch==2.13.0"), LOGIN_NODE, None)
    assert verdict.status is Status.SKIP


def test_other_builds_and_platforms_are_not_judged() -> None:
    """ROCm wheels and ARM machines are outside the tables."""
    assert before(section("torch==2.9.0+rocm6.4"), R535) == []
    arm = host("535.104.05", "12.2", A100_CARD, subdir="linux-aarch64")
    assert before(section("torch==2.13.0"), arm) == []


@pytest.mark.parametrize(
    ("pin", "python", "fails"),
    [
        ("torch==2.15.0", "3.10", True),
        ("torch==2.14.1", "3.10", False),
        ("torch==2.9.1", "3.9", True),
        ("torch==2.2.2", "3.13", True),
    ],
)
def test_python_and_torch(pin: str, python: str, *, fails: bool) -> None:
    """2.15 has no wheel for Python 3.10; the line of python and that of torch are both named."""
    facts = host("595.45.04", "13.2", A100_CARD)
    found = [verdict for verdict in before(section(pin, python=python), facts) if verdict.check == "python-torch"]
    assert bool(found) is fails
    if found:
        assert [origin.where for origin in found[0].origins] == ["environment.yml:5", "environment.yml:2"]
        assert found[0].changes[0].name == "python"


def test_python_of_the_solution() -> None:
    """What the solver took for ``python`` is compared with what was resolved."""
    spec, facts = composed(section("torch")), host("595.45.04", "13.2", A100_CARD)
    plan = solution(record("python", "3.10.14", "h_0"))
    found = check_pip(spec, pip_plan("torch==2.15.0", "cuda-toolkit==13.2.2"), plan, facts, offered(facts, spec))
    assert [verdict.check for verdict in found if verdict.status is Status.FAIL] == ["python-torch"]


@pytest.mark.parametrize(
    ("pins", "named"),
    [
        (("torch==2.13.0", "torchvision==0.28.0", "torchaudio==2.11.0"), []),
        (("torch==2.13.0", "torchvision==0.27.1"), ["torchvision"]),
        (("torch==2.6.0", "torchaudio==2.5.0"), ["torchaudio"]),
        (("torch==2.0.1", "torchvision==0.15.2", "torchaudio==2.0.2"), []),
        (("torch==2.13.0", "torchaudio==2.11.1"), []),
    ],
)
def test_torch_and_its_companions(pins: tuple[str, ...], named: list[str]) -> None:
    """The torchvision of a plan pairs with one minor of torch; torchaudio from 2.11 on fits every later one."""
    found = [verdict for verdict in before(section(*pins, python="3.11"), R580) if verdict.check == "torch-pair"]
    assert [verdict.changes[0].name for verdict in found] == named


def test_nothing_secret_in_a_verdict() -> None:
    """Credentials in index and artifact addresses stay out of what is shown."""
    spec = composed(section("--extra-index-url https://u:s3cr3t@download.pytorch.org/whl/cu130", "torch==2.13.0"))
    plan = pip_plan("torch==2.13.0", urls={"torch": "https://u:s3cr3t@mirror.example/whl/cu130/torch.whl"})
    shown = [check_before(spec, R535, offered(R535, spec)), resolved(spec, plan, R535)]
    for verdicts in shown:
        for verdict in verdicts:
            text = " ".join(
                [verdict.summary, *verdict.detail, verdict.why, *(" ".join(change.new) for change in verdict.changes)]
            )
            assert "s3cr3t" not in text
