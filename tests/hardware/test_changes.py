"""Proposed changes, applied to a composed environment."""

from __future__ import annotations

from conda_llmenv.hardware import apply_changes
from conda_llmenv.model import Change, EnvSpec, Origin
from tests.hardware.building import composed

TEXT = """\
channels: [pytorch, conda-forge]
dependencies:
  - python=3.9
  - cudatoolkit=11.8
  - nccl
  - pip:
      - torch
"""
LINE = Origin("environment.yml", 4)


def texts(spec: EnvSpec) -> list[str]:
    """Return what a solver is given, without pip."""
    return [text for merged in spec.specs if merged.name != "pip" for text in merged.texts]


def test_a_spec_is_replaced_where_it_stands() -> None:
    """The place in the order stays, the new text carries the line it is for."""
    old = composed(TEXT)
    spec = apply_changes(old, [Change("spec", ("pytorch-cuda=11.8",), LINE, "cudatoolkit")])
    names = [merged.name for merged in old.specs]
    assert [merged.name for merged in spec.specs] == [name.replace("cudatoolkit", "pytorch-cuda") for name in names]
    assert "pytorch-cuda 11.8.*" in texts(spec)
    replaced = spec.spec("pytorch-cuda")
    assert replaced is not None
    assert replaced.parts[0].origin == LINE
    assert spec.spec("cudatoolkit") is None


def test_a_spec_that_is_there_already_is_not_doubled() -> None:
    """Replacing one package by another that is asked for too leaves one."""
    spec = apply_changes(composed(TEXT), [Change("spec", ("nccl>=2.18",), LINE, "cudatoolkit")])
    assert [text for text in texts(spec) if text.startswith("nccl")] == ["nccl >=2.18"]
    assert spec.spec("cudatoolkit") is None


def test_add_and_drop() -> None:
    """Adding appends, or replaces what is there under the name; dropping removes."""
    spec = apply_changes(composed(TEXT), [Change("add", ("pytorch-gpu",)), Change("drop", (), LINE, "nccl")])
    assert "pytorch-gpu" in texts(spec)
    assert spec.spec("nccl") is None
    again = apply_changes(spec, [Change("add", ("cudatoolkit=11.2",))])
    assert [text for text in texts(again) if text.startswith("cudatoolkit")] == ["cudatoolkit 11.2.*"]


def test_channels_keep_their_lines() -> None:
    """The known channels keep where they were listed; a new one gets the line to edit."""
    at = Origin("environment.yml", 1)
    spec = apply_changes(composed(TEXT), [Change("channels", ("pytorch", "nvidia", "conda-forge"), at)])
    assert [channel.name for channel in spec.channels] == ["pytorch", "nvidia", "conda-forge"]
    assert spec.channels[1].origins == (at,)
    assert spec.channels[0] == composed(TEXT).channels[0]


def test_the_pip_section() -> None:
    """Requirements are replaced and options added once."""
    option = Change("pip-option", ("--extra-index-url https://download.pytorch.org/whl/cu126",), LINE)
    spec = apply_changes(composed(TEXT), [option, option, Change("pip", ("torch==2.13.0+cu126",), LINE, "torch")])
    assert [entry.text for entry in spec.pip.options] == ["--extra-index-url https://download.pytorch.org/whl/cu126"]
    assert spec.pip.options[0].tokens == ("--extra-index-url", "https://download.pytorch.org/whl/cu126")
    (torch,) = spec.pip.requirements
    assert (torch.name, torch.specifier) == ("torch", "==2.13.0+cu126")


def test_what_is_no_edit_changes_nothing() -> None:
    """Advice for people leaves the environment as it is."""
    spec = composed(TEXT)
    assert apply_changes(spec, [Change("host", ("install a driver",)), Change("tier", ("use another",))]) == spec
