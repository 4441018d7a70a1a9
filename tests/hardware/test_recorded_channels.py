"""Real solves on recorded metadata of real channels."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.engines.rattler.engine import RattlerEngine
from conda_llmenv.errors import Unsatisfiable
from conda_llmenv.hardware import apply_changes, check_after, check_before, explain_unsatisfiable
from conda_llmenv.model import (
    Channel,
    EnvSpec,
    HostFacts,
    Notice,
    Solution,
    SolveRequest,
    Status,
    Verdict,
    VirtualPackage,
)
from tests.conftest import RECORDED
from tests.hardware.building import A100_CARD, LOGIN_NODE, composed, host, offered

pytestmark = pytest.mark.channels

TUTORIAL = """\
name: llm
channels: [pytorch, conda-forge, defaults]
dependencies:
  - python=3.9
  - pytorch=2.0.1
  - torchvision=0.15.2
  - torchaudio=2.0.2
  - cudatoolkit=11.8
  - nccl
  - openmpi
  - pip
  - pip:
      - torchmetrics
      - tensorboard
      - wandb
      - psutil
"""
"""Of the shape of a widely copied tutorial."""

HALF_FIXED = TUTORIAL.replace("[pytorch, conda-forge, defaults]", "[pytorch, nvidia, conda-forge]").replace(
    "  - cudatoolkit=11.8\n", "  - cudatoolkit=11.8\n  - pytorch-cuda=11.8\n"
)


class Silent:
    """A reporter that hears everything and says nothing."""

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Hear that a stage begins."""

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Hear how far it is."""

    def finish(self, stage: str, detail: str = "") -> None:
        """Hear that it is over."""

    def line(self, stage: str, text: str) -> None:
        """Hear a line of output."""

    def notice(self, notice: Notice) -> None:
        """Hear a warning."""


def solve(spec: EnvSpec, virtual: tuple[VirtualPackage, ...], cache: Path) -> Solution:
    """Solve a composed environment on the recorded channels."""
    request = SolveRequest(
        specs=tuple(text for merged in spec.specs for text in merged.texts),
        channels=tuple(
            Channel(channel.name, (RECORDED / channel.name).resolve().as_uri()) for channel in spec.channels
        ),
        subdirs=("linux-64", "noarch"),
        virtual_packages=virtual,
        channel_priority=spec.channel_priority,
        repodata_cache=cache,
    )
    return RattlerEngine().solve(request, Silent())


def refused(verdicts: tuple[Verdict, ...]) -> list[Verdict]:
    """Return the failed ones."""
    return [verdict for verdict in verdicts if verdict.status is Status.FAIL]


MACHINES = [LOGIN_NODE, host("550.54.15", "12.4", A100_CARD), host("535.104.05", "12.2", A100_CARD)]


@pytest.mark.parametrize("facts", MACHINES, ids=["login node", "driver 550", "driver 535"])
def test_the_tutorial_environment_is_refused_and_its_fix_works(facts: HostFacts, tmp_path: Path) -> None:
    """It solves, to a CPU pytorch beside cudatoolkit 11.8; the proposed change gives the CUDA build (61)."""
    spec = composed(TUTORIAL)
    virtual = offered(facts, spec)
    assert refused(check_before(spec, facts, virtual)) == []
    chosen = solve(spec, virtual, tmp_path)
    (verdict,) = refused(check_after(spec, chosen, facts, virtual))
    assert verdict.summary == "tier a100 would get a CPU build of pytorch"
    assert verdict.detail == ("pytorch 2.0.1 py3.9_cpu_0    channel pytorch, asked for at environment.yml:5",)
    assert verdict.why == (
        "from 1.13 on this channel's CUDA comes with `pytorch-cuda`; `cudatoolkit` (environment.yml:8) is not used by "
        "it. Its runtime packages live in channel `nvidia`, which environment.yml:2 does not list."
    )
    assert [(change.origin and change.origin.where, change.kind, change.new) for change in verdict.changes] == [
        ("environment.yml:2", "channels", ("pytorch", "nvidia", "conda-forge")),
        ("environment.yml:8", "spec", ("pytorch-cuda=11.8",)),
    ]
    fixed = apply_changes(spec, verdict.changes)
    again = solve(fixed, virtual, tmp_path)
    assert str(again.record("pytorch")) == "pytorch 2.0.1 py3.9_cuda11.8_cudnn8.7.0_0"
    assert refused(check_after(fixed, again, facts, virtual)) == []


def test_half_the_fix_is_explained(tmp_path: Path) -> None:
    """pytorch-cuda beside cudatoolkit: the three specs at file:line, the channel rule, and the drop that works (62)."""
    spec = composed(HALF_FIXED)
    virtual = offered(LOGIN_NODE, spec)
    with pytest.raises(Unsatisfiable) as caught:
        solve(spec, virtual, tmp_path)
    verdict = explain_unsatisfiable(spec, caught.value)
    assert verdict is not None
    assert verdict.detail == (
        "cudatoolkit=11.8 (environment.yml:8)",
        "pytorch-cuda=11.8 (environment.yml:9)",
        "nccl (environment.yml:10)",
    )
    assert "strict channel priority" in verdict.why
    assert "`nvidia` (environment.yml:2) hides conda-forge's" in verdict.why
    assert [(change.kind, change.name) for change in verdict.changes] == [("drop", "cudatoolkit")]
    again = solve(apply_changes(spec, verdict.changes), virtual, tmp_path)
    assert str(again.record("pytorch")) == "pytorch 2.0.1 py3.9_cuda11.8_cudnn8.7.0_0"


def test_another_conflict_is_not_blamed_on_cudatoolkit(tmp_path: Path) -> None:
    """The same channels with a Python nobody built pytorch 2.0.1 for: left to the solver's own words."""
    text = HALF_FIXED.replace("python=3.9", "python=3.13").replace("  - cudatoolkit=11.8\n", "")
    spec = composed(text)
    with pytest.raises(Unsatisfiable) as caught:
        solve(spec, offered(LOGIN_NODE, spec), tmp_path)
    assert explain_unsatisfiable(spec, caught.value) is None


def test_a_cuda_build_without_a_driver_is_explained(tmp_path: Path) -> None:
    """pytorch-gpu on a login node without a tier: no ``__cuda``, and what to say instead (39)."""
    spec = composed("channels: [conda-forge]\ndependencies:\n  - python=3.11\n  - pytorch-gpu\n", None)
    with pytest.raises(Unsatisfiable) as caught:
        solve(spec, offered(LOGIN_NODE, spec), tmp_path)
    verdict = explain_unsatisfiable(spec, caught.value)
    assert verdict is not None
    assert "pytorch-gpu (environment.yml:4)" in verdict.summary
    assert "CONDA_OVERRIDE_CUDA" in verdict.changes[0].new[0]


def test_a_torch_that_drops_to_cpu_by_a_companion_is_caught_and_fixed(tmp_path: Path) -> None:
    """Plain ``torchvision`` takes the newest build, a CPU one; asking for pytorch-gpu brings CUDA back."""
    spec = composed("channels: [conda-forge]\ndependencies:\n  - torchvision\n")
    virtual = offered(LOGIN_NODE, spec)
    (verdict,) = refused(check_after(spec, solve(spec, virtual, tmp_path), LOGIN_NODE, virtual))
    assert "asked for at environment.yml:3" in verdict.detail[0]
    fixed = apply_changes(spec, verdict.changes)
    assert refused(check_after(fixed, solve(fixed, virtual, tmp_path), LOGIN_NODE, virtual)) == []


def test_the_cpu_tier_on_pytorchs_channel_is_caught_and_fixed(tmp_path: Path) -> None:
    """That channel's CUDA builds install without a card; a build glob gives the CPU build."""
    text = "channels: [pytorch, nvidia, conda-forge]\ndependencies: [python=3.10, pytorch=2.0.1, pytorch-cuda=11.8]\n"
    spec = composed(text, "cpu")
    virtual = offered(LOGIN_NODE, spec)
    (verdict,) = refused(check_after(spec, solve(spec, virtual, tmp_path), LOGIN_NODE, virtual))
    fixed = apply_changes(spec, verdict.changes)
    again = solve(fixed, virtual, tmp_path)
    assert str(again.record("pytorch")) == "pytorch 2.0.1 py3.10_cpu_0"
    assert refused(check_after(fixed, again, LOGIN_NODE, virtual)) == []
