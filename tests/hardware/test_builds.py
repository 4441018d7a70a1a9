"""The kind of build that was chosen."""

from __future__ import annotations

import pytest
from msgspec import structs
from packaging.version import Version

from conda_llmenv.hardware import check_after
from conda_llmenv.hardware.builds import BuildKind, build_kind, cuda_in, plan_cuda
from conda_llmenv.hardware.tables import load_tables
from conda_llmenv.model import HostFacts, Record, Status, Verdict
from tests.hardware.building import A100_CARD, LOGIN_NODE, composed, host, offered, record, solution


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("py3.9_cuda11.8_cudnn8.7.0_0", "11.8"),
        ("cuda129_mkl_py311_h49b8cc7_300", "12.9"),
        ("cuda118py311h9433a6d_301", "11.8"),
        ("cuda120_py311hf6aebf0_301", "12.0"),
        ("py310_cu121", "12.1"),
        ("py36_cuda9.0.176_cudnn7.3.0_1", "9.0"),
        ("py36_cu92", "9.2"),
        ("py3.7_cuda10.2.89_cudnn7.6.5_0", "10.2"),
        ("dgl-cuda11.1", "11.1"),
        ("gpu_cuda124py312h7c4cd23_301", "12.4"),
        ("py3.9_cpu_0", None),
        ("cpu_mkl_py311_h338015a_100", None),
        ("h70ddcb2_3", None),
        ("cudnn8.9.2", None),
    ],
)
def test_cuda_in_a_build_string(text: str, cuda: str | None) -> None:
    """Every channel spells it its own way; a cuDNN version is not a CUDA version."""
    assert cuda_in(text) == (Version(cuda) if cuda else None)


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (record("pytorch", "2.0.1", "py3.9_cpu_0"), BuildKind.CPU),
        (record("pytorch", "2.12.0", "cpu_mkl_py311_h338015a_100"), BuildKind.CPU),
        (record("pytorch", "2.12.0", "cuda129_mkl_py311_h49b8cc7_300"), BuildKind.CUDA),
        (record("pytorch", "2.5.1", "gpu_cuda124py312h7c4cd23_301"), BuildKind.CUDA),
        (record("tensorflow", "2.12.0", "mkl_py310h24e1563_0"), BuildKind.CPU),
        (record("tensorflow", "2.12.0", "gpu_py311h65739b5_0"), BuildKind.CUDA),
        (record("pytorch", "1.0", "py37_0", depends=("cudatoolkit >=10.0,<10.1",)), BuildKind.CUDA),
        (record("pytorch", "1.0", "py37_0"), BuildKind.OTHER),
    ],
)
def test_kind_of_a_build(found: Record, kind: BuildKind) -> None:
    """The build string tells, and where it does not, what the record depends on."""
    assert build_kind(found) is kind


def test_the_frameworks_own_build_tells_the_cuda_of_a_plan() -> None:
    """``pytorch-cuda=11.8`` pulls nvidia's ``cuda-version`` 12.6 in; the plan is for 11.8 all the same."""
    plan = solution(
        record("pytorch", "2.0.1", "py3.9_cuda11.8_cudnn8.7.0_0", "pytorch"),
        record("cuda-version", "12.6", "3", "nvidia"),
        record("pytorch-cuda", "11.8", "h7e8668a_6", "pytorch"),
    )
    found = plan_cuda(plan, load_tables())
    assert found is not None
    assert str(found[0]) == "11.8"


def judged(text: str, tier: str | None, *records: Record, facts: HostFacts = LOGIN_NODE) -> list[Verdict]:
    """Return the verdicts about builds that are no passes."""
    spec = composed(text, tier)
    found = check_after(spec, solution(*records), facts, offered(facts, spec))
    return [verdict for verdict in found if verdict.link == "framework" and verdict.status is not Status.PASS]


CPU_TORCH = record("pytorch", "2.12.0", "cpu_mkl_py311_h338015a_100")
CUDA_TORCH = record("pytorch", "2.12.0", "cuda129_mkl_py311_h49b8cc7_300", depends=("__cuda",))
JAX_CUDA = record("jaxlib", "0.9.2", "cuda129_py311h6689f8c_200")
JAX_CPU = record("jaxlib", "0.9.2", "cpu_py311hceffaa2_0")


def test_a_cpu_build_for_a_gpu_tier_is_refused() -> None:
    """Shows record, build string, channel, line, and the spec that asks for CUDA (40: conda#14761)."""
    (verdict,) = judged("channels: [conda-forge]\ndependencies:\n  - pytorch\n", "a100", CPU_TORCH)
    assert verdict.status is Status.FAIL
    assert verdict.summary == "tier a100 would get a CPU build of pytorch"
    assert verdict.detail == (
        "pytorch 2.12.0 cpu_mkl_py311_h338015a_100    channel conda-forge, asked for at environment.yml:3",
    )
    assert [(change.kind, change.new) for change in verdict.changes] == [("add", ("pytorch-gpu",))]


def test_a_cuda_build_for_the_cpu_tier_is_refused() -> None:
    """The reverse (40)."""
    (verdict,) = judged("channels: [conda-forge]\ndependencies:\n  - pytorch-gpu\n", "cpu", CUDA_TORCH)
    assert verdict.status is Status.FAIL
    assert verdict.summary == "tier cpu would get a CUDA build of pytorch"
    assert [(change.kind, change.name or change.new[0]) for change in verdict.changes] == [
        ("drop", "pytorch-gpu"),
        ("add", "pytorch-cpu"),
    ]


def test_a_cuda_build_of_pytorchs_own_channel_for_the_cpu_tier() -> None:
    """That channel's CUDA builds ask for no ``__cuda``: they slip onto machines without a card."""
    text = "channels: [pytorch, nvidia, conda-forge]\ndependencies: [pytorch, pytorch-cuda=11.8]\n"
    (verdict,) = judged(text, "cpu", record("pytorch", "2.0.1", "py3.9_cuda11.8_cudnn8.7.0_0", "pytorch"))
    assert "no `__cuda`" in verdict.why
    assert [change.kind for change in verdict.changes] == ["drop", "spec"]
    assert verdict.changes[1].new == ("pytorch * *cpu*",)


@pytest.mark.parametrize("chooser", ["pytorch-cpu", "cpuonly", "pytorch=*=cpu*", "pytorch=2.0.1=py3.9_cpu_0"])
def test_a_cpu_build_asked_for_by_name_is_no_error(chooser: str) -> None:
    """Who says CPU gets CPU, on any tier (9: young-geng/EasyLM)."""
    assert judged(f"dependencies: ['{chooser}']\n", "a100", CPU_TORCH) == []


def test_one_framework_on_the_card_and_the_other_not() -> None:
    """``jaxlib=*cuda*`` beside ``pytorch-cpu`` on purpose: no error; the reverse kind of jaxlib is one (9)."""
    text = "dependencies:\n    - jaxlib=0.3.15=*cuda*\n    - pytorch-cpu\n"
    assert judged(text, "a100", CPU_TORCH, JAX_CUDA) == []
    (verdict,) = judged("dependencies:\n  - jaxlib=0.9.2\n  - pytorch-cpu\n", "a100", CPU_TORCH, JAX_CPU)
    assert "CPU build of jaxlib" in verdict.summary
    assert verdict.changes[0].new == ("jaxlib 0.9.2.* *cuda*",)


def test_without_a_tier_a_cpu_build_beside_a_driver_is_a_warning() -> None:
    """Nobody asked for the card, but it is there."""
    facts = host("550.54.15", "12.4", A100_CARD)
    (verdict,) = judged("dependencies: [pytorch]\n", None, CPU_TORCH, facts=facts)
    assert verdict.status is Status.WARN
    assert judged("dependencies: [pytorch]\n", None, CPU_TORCH) == []


def test_a_tier_that_assumes_nothing_on_a_login_node() -> None:
    """No driver and no assumption: the fix is to say for which CUDA (39)."""
    from conda_llmenv.compose.merging import merge
    from tests.hardware.building import fragment, tier

    spec = merge([tier("a100", 'llmenv: {gpu: {match: ["A100"]}}\n'), fragment("dependencies: [pytorch]\n")])
    found = check_after(spec, solution(CPU_TORCH), LOGIN_NODE, offered(LOGIN_NODE, spec))
    (verdict,) = [verdict for verdict in found if verdict.status is Status.FAIL]
    assert "CONDA_OVERRIDE_CUDA" in verdict.changes[0].new[0]


def test_an_unknown_build_is_skipped_not_passed() -> None:
    """A build that does not tell its kind is not called good."""
    (verdict,) = judged("dependencies: [pytorch]\n", "a100", record("pytorch", "2.1", "py311_0"))
    assert verdict.status is Status.SKIP


def test_an_old_release_of_pytorchs_channel_takes_cudatoolkit() -> None:
    """Up to 1.12 CUDA came with ``cudatoolkit``; the newest that the release was built for and the driver runs."""
    text = "channels: [pytorch, conda-forge]\ndependencies:\n  - pytorch=1.12\n"
    (verdict,) = judged(text, "a100", record("pytorch", "1.12.1", "py3.9_cpu_0", "pytorch"))
    assert [(change.kind, change.new) for change in verdict.changes] == [("add", ("cudatoolkit=11.6",))]


def test_a_card_too_new_for_pytorchs_channel_is_sent_elsewhere() -> None:
    """No build of that channel knows a Blackwell card: conda-forge is the way, not another CUDA."""
    text = "channels: [pytorch, conda-forge]\ndependencies:\n  - pytorch=2.5\n"
    (verdict,) = judged(text, "rtx-50", record("pytorch", "2.5.1", "py3.11_cpu_0", "pytorch"))
    assert verdict.changes[0].kind == "tier"
    assert "conda-forge" in verdict.changes[0].new[0]


def test_credentials_of_a_channel_stay_out_of_the_verdict() -> None:
    """A record's channel may carry a token; the verdict names the channel only."""
    hidden = structs.replace(CPU_TORCH, channel="https://user:s3cr3t@conda.example/t/tk-s3cr3t/lab")
    (verdict,) = judged("channels: [conda-forge]\ndependencies: [pytorch]\n", "a100", hidden)
    assert "s3cr3t" not in repr(verdict)
